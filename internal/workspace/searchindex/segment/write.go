package segment

import (
	"bufio"
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

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// Write makes the segment of these files, which are in the order of their
// names, from what was added, and from an older segment unless it is nil. It
// appears at path when it is finished, in place of what was there.
func (b *Builder) Write(ctx context.Context, path string, made Digest, files []File, older *Previous) (*Segment, error) {
	file, err := createTemp(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	err = b.fill(ctx, file, made, files, older)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	// Opened before it has its name, it is ours whatever others put there.
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

// A writer writes the parts of a segment one after the other.
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
			continue // only in files that are gone
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

// A merge goes through several sources at once.
type merge struct {
	sources []source
	heads   []trigram.T
}

const end = trigram.T(1 << 24) // after all trigrams

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

// collect appends the numbers that all sources together have for t. Each file is
// in one source only.
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

// tables writes what comes after the lists.
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

// A table is what a segment says of its files.
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

// splitName takes the last step off a name.
func splitName(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return ".", name
}
