package segment

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// A Builder collects the trigrams of files and writes a segment. It is for one goroutine.
// The caller closes it.
type Builder struct {
	dir    string // for temporary files
	memory int
	table  []slot // a hash table by trigram
	used   int
	blocks []block
	runs   []*run
}

// NewBuilder returns a builder that uses about memory bytes, and temporary files in dir
// beyond that.
func NewBuilder(dir string, memory int) *Builder { return &Builder{dir: dir, memory: memory} }

// A slot is a list under construction.
type slot struct {
	key        uint32 // the trigram plus 1; 0 for an empty slot
	last       uint32 // the last number in the list
	count      uint32
	head, tail uint32 // indexes of blocks
	fill       uint32 // bytes used in the tail
}

// A block is a part of a list. Block 0 is not used.
type block struct {
	data [12]byte
	next uint32
}

const (
	slotBytes  = 24
	blockBytes = 16
)

// Add adds the trigrams of a file. Numbers of files must increase.
func (b *Builder) Add(file uint32, found []trigram.T) error {
	if b.table == nil {
		b.table, b.blocks = make([]slot, 1<<14), make([]block, 1, 1<<14)
	}
	for _, t := range found {
		b.addOne(uint32(t)+1, file)
	}
	if len(b.table)*slotBytes+len(b.blocks)*blockBytes > b.memory {
		return b.spill()
	}
	return nil
}

func (b *Builder) addOne(key, file uint32) {
	s := b.slot(key)
	if s.key == 0 {
		if b.used++; b.used > len(b.table)*3/4 {
			b.grow()
			s = b.slot(key)
		}
		*s = slot{key: key, last: ^uint32(0), fill: 12}
	}
	for gap := file - s.last; ; gap >>= 7 {
		if gap < 0x80 {
			b.write(s, byte(gap))
			break
		}
		b.write(s, byte(gap)|0x80)
	}
	s.last = file
	s.count++
}

// write appends one byte to a list.
func (b *Builder) write(s *slot, c byte) {
	if s.fill == uint32(len(block{}.data)) {
		n := uint32(len(b.blocks))
		b.blocks = append(b.blocks, block{})
		if s.head == 0 {
			s.head = n
		} else {
			b.blocks[s.tail].next = n
		}
		s.tail, s.fill = n, 0
	}
	b.blocks[s.tail].data[s.fill] = c
	s.fill++
}

func (b *Builder) slot(key uint32) *slot {
	mask := uint32(len(b.table) - 1)
	for i := key * 0x9e3779b1 >> 7; ; i++ {
		if s := &b.table[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

func (b *Builder) grow() {
	old := b.table
	b.table = make([]slot, 2*len(old))
	for _, s := range old {
		if s.key != 0 {
			*b.slot(s.key) = s
		}
	}
}

// A source returns lists in the order of their trigrams.
type source interface {
	// next returns the next trigram, io.EOF after the last.
	next() (trigram.T, error)
	// numbers appends the list of the last trigram, in order.
	numbers(to []uint32) []uint32
}

// A memorySource is the source of the lists that the builder holds in memory.
type memorySource struct {
	b     *Builder
	slots []slot
	at    *slot
	raw   []byte
}

func (b *Builder) memorySource() *memorySource {
	m := &memorySource{b: b}
	for _, s := range b.table {
		if s.key != 0 {
			m.slots = append(m.slots, s)
		}
	}
	slices.SortFunc(m.slots, func(x, y slot) int { return cmp.Compare(x.key, y.key) })
	return m
}

func (m *memorySource) next() (trigram.T, error) {
	if len(m.slots) == 0 {
		return 0, io.EOF
	}
	m.at, m.slots = &m.slots[0], m.slots[1:]
	m.raw = m.raw[:0]
	for n := m.at.head; ; n = m.b.blocks[n].next {
		if n == m.at.tail {
			m.raw = append(m.raw, m.b.blocks[n].data[:m.at.fill]...)
			return trigram.T(m.at.key - 1), nil
		}
		m.raw = append(m.raw, m.b.blocks[n].data[:]...)
	}
}

func (m *memorySource) numbers(to []uint32) []uint32 { return appendNumbers(to, m.raw) }

func appendNumbers(to []uint32, raw []byte) []uint32 {
	list{data: raw}.each(func(n uint32) bool {
		to = append(to, n)
		return true
	})
	return to
}

// A Previous segment is the source of the lists that it has. Renumber[n] is the new number of file
// n plus 1, or 0 if the file is left out. The order of the files does not change.
type Previous struct {
	*Segment
	Renumber []uint32

	term int
}

func (o *Previous) next() (trigram.T, error) {
	if o.term == o.terms {
		return 0, io.EOF
	}
	o.term++
	return trigram.T(binary.LittleEndian.Uint32(o.dict[(o.term-1)*dictSize:])), nil
}

func (o *Previous) numbers(to []uint32) []uint32 {
	o.Segment.term(o.term - 1).each(func(n uint32) bool {
		if now := o.Renumber[n]; now != 0 {
			to = append(to, now-1)
		}
		return true
	})
	return to
}

// A run is a temporary file of lists. For each trigram it has the trigram, the length of
// the list, and the list.
type run struct {
	file *os.File
	in   *bufio.Reader
	raw  []byte
}

// spill writes the lists in memory to a file, and clears them.
func (b *Builder) spill() (err error) {
	file, err := createTemp(b.dir)
	if err != nil {
		return err
	}
	b.runs = append(b.runs, &run{file: file})
	out := bufio.NewWriterSize(file, 256<<10)
	for m := b.memorySource(); ; {
		t, err := m.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var head [8]byte
		binary.LittleEndian.PutUint32(head[:], uint32(t))
		binary.LittleEndian.PutUint32(head[4:], uint32(len(m.raw)))
		_, err = out.Write(head[:])
		_, bodyErr := out.Write(m.raw)
		if err := errors.Join(err, bodyErr); err != nil {
			return fmt.Errorf("writing a run: %w", err)
		}
	}
	b.used, b.blocks = 0, b.blocks[:1]
	clear(b.table)
	return out.Flush()
}

// Close removes the temporary files.
func (b *Builder) Close() error {
	var errs []error
	for _, r := range b.runs {
		errs = append(errs, r.file.Close(), os.Remove(r.file.Name()))
	}
	b.runs = nil
	return errors.Join(errs...)
}

func (r *run) rewind() error {
	_, err := r.file.Seek(0, io.SeekStart)
	r.in = bufio.NewReaderSize(r.file, 64<<10)
	return err
}

func (r *run) next() (trigram.T, error) {
	var head [8]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if cap(r.raw) < int(n) {
		r.raw = make([]byte, n)
	}
	r.raw = r.raw[:n]
	_, err := io.ReadFull(r.in, r.raw)
	return trigram.T(binary.LittleEndian.Uint32(head[:])), err
}

func (r *run) numbers(to []uint32) []uint32 { return appendNumbers(to, r.raw) }

// Write writes the segment of files from the added trigrams and, if older is not nil, from the
// previous segment. The files are ordered by name. The segment replaces the file at path when
// it is complete.
func (b *Builder) Write(
	ctx context.Context, path string, made Digest, files []File, older *Previous,
) (*Segment, error) {
	file, err := createTemp(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	err = b.fill(ctx, file, made, files, older)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	// Opened under its temporary name, it is this segment even if another process writes path.
	s, err := Open(file.Name(), made)
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	return s, nil
}

func (b *Builder) fill(ctx context.Context, file *os.File, made Digest, files []File, older *Previous) error {
	w := &writer{sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	w.out = bufio.NewWriterSize(io.MultiWriter(file, w.sum), 256<<10)
	if err := b.lists(ctx, w, len(files), older); err != nil {
		return err
	}
	if err := w.tables(made, files); err != nil {
		return err
	}
	return file.Sync()
}

// A writer writes the parts of a segment in order.
type writer struct {
	out  *bufio.Writer
	sum  hash.Hash32
	dict []byte
	at   uint64
}

// lists merges all sources and writes their lists.
func (b *Builder) lists(ctx context.Context, w *writer, files int, older *Previous) error {
	all := []source{b.memorySource()}
	for _, r := range b.runs {
		if err := r.rewind(); err != nil {
			return err
		}
		all = append(all, r)
	}
	if older != nil {
		all = append(all, older)
	}
	m, err := newMerge(all)
	if err != nil {
		return err
	}
	var numbers []uint32
	var raw []byte
	for i := 0; ; i++ {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := slices.Min(m.heads)
		if t == end {
			return nil
		}
		if numbers, err = m.collect(t, numbers[:0]); err != nil {
			return err
		}
		if len(numbers) == 0 {
			continue // it occurs only in files that were left out
		}
		raw = appendList(raw[:0], numbers, files)
		w.dict = binary.LittleEndian.AppendUint32(w.dict, uint32(t))
		w.dict = binary.LittleEndian.AppendUint32(w.dict, uint32(len(numbers)))
		w.dict = binary.LittleEndian.AppendUint64(w.dict, w.at)
		w.at += uint64(len(raw))
		if _, err := w.out.Write(raw); err != nil {
			return err
		}
	}
}

// A merge iterates over several sources in parallel.
type merge struct {
	sources []source
	heads   []trigram.T
}

const end = trigram.T(1 << 24) // greater than all trigrams

func newMerge(sources []source) (*merge, error) {
	m := &merge{sources, make([]trigram.T, len(sources))}
	for i := range sources {
		if err := m.advance(i); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *merge) advance(i int) error {
	t, err := m.sources[i].next()
	if errors.Is(err, io.EOF) {
		t, err = end, nil
	}
	m.heads[i] = t
	return err
}

// collect appends the numbers of all sources for t. Each file is in only one source.
func (m *merge) collect(t trigram.T, to []uint32) ([]uint32, error) {
	sorted := true
	for i, head := range m.heads {
		if head != t {
			continue
		}
		before := len(to)
		to = m.sources[i].numbers(to)
		sorted = sorted && (before == 0 || before == len(to) || to[before-1] < to[before])
		if err := m.advance(i); err != nil {
			return nil, err
		}
	}
	if !sorted {
		slices.Sort(to)
	}
	return to, nil
}

// tables writes everything after the lists.
func (w *writer) tables(made Digest, files []File) error {
	t := tableOf(files)
	if uint64(len(t.names)) >= 1<<32 {
		return fmt.Errorf("the names of %d files are too long", len(files))
	}
	for _, part := range [][]byte{w.dict, t.records, t.folders, t.numbers, t.names} {
		if _, err := w.out.Write(part); err != nil {
			return err
		}
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	trailer := append([]byte(magic), made[:]...)
	for _, n := range [8]int{len(files), t.dirs, len(w.dict) / dictSize, int(w.at), len(t.names)} {
		trailer = binary.LittleEndian.AppendUint64(trailer, uint64(n))
	}
	trailer = binary.LittleEndian.AppendUint32(trailer, w.sum.Sum32())
	trailer = binary.LittleEndian.AppendUint32(trailer, sum(trailer))
	if _, err := w.out.Write(trailer); err != nil {
		return err
	}
	return w.out.Flush()
}

// A table is the encoded tables of files and directories.
type table struct {
	dirs                             int
	records, folders, numbers, names []byte
}

func tableOf(files []File) table {
	var t table
	in := map[string][]uint32{}
	for i, f := range files {
		dir, _ := splitName(f.Name)
		in[dir] = append(in[dir], uint32(i))
	}
	dirs := make([]string, 0, len(in))
	for dir := range in {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	t.dirs, t.records = len(dirs), make([]byte, len(files)*fileSize)
	for d, dir := range dirs {
		t.folder(len(t.names), len(dir))
		t.names = append(t.names, dir...)
		slices.SortFunc(in[dir], func(a, b uint32) int { return strings.Compare(files[a].Name, files[b].Name) })
		for _, n := range in[dir] {
			t.numbers = binary.LittleEndian.AppendUint32(t.numbers, n)
			_, base := splitName(files[n].Name)
			t.record(int(n), d, files[n], len(base))
			t.names = append(t.names, base...)
		}
	}
	t.folder(0, 0)
	return t
}

func (t *table) folder(name, length int) {
	t.folders = binary.LittleEndian.AppendUint32(t.folders, uint32(name))
	t.folders = binary.LittleEndian.AppendUint32(t.folders, uint32(length))
	t.folders = binary.LittleEndian.AppendUint32(t.folders, uint32(len(t.numbers)/4))
}

func (t *table) record(n, dir int, f File, length int) {
	r := t.records[n*fileSize : n*fileSize : (n+1)*fileSize]
	r = binary.LittleEndian.AppendUint32(r, uint32(dir))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(t.names)))
	r = binary.LittleEndian.AppendUint16(r, uint16(length))
	r = binary.LittleEndian.AppendUint16(r, uint16(f.Flags))
	for _, n := range [4]uint64{uint64(f.Size), uint64(f.Modified), uint64(f.Changed), f.Ino} {
		r = binary.LittleEndian.AppendUint64(r, n)
	}
}

// splitName splits a name into its directory and its last step.
func splitName(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return ".", name
}

// TempPattern matches the names of temporary files.
const TempPattern = "*.tmp"

// createTemp creates a temporary file and locks it. The lock shows other processes that
// the file is in use; it ends with the process.
func createTemp(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, TempPattern)
	if err == nil {
		_, _ = private.TryLock(file) // without a lock the age of the file decides
	}
	return file, err
}

// Abandoned reports whether no process uses a temporary file. It returns false if locks
// are not supported, and may return true for a file that was created at this moment.
func Abandoned(name string) bool {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	taken, err := private.TryLock(file)
	return taken && err == nil
}
