// Package segment stores, in an immutable file, the names and stamps of many files and the
// trigrams that each of them contains.
//
// It finds the files that may match a query. It identifies a file by a number: its position in
// the order of all names. It knows neither the place of the files nor whether they have changed
// since. [Builder] writes a segment, [Open] maps it into memory, and [Segment.Eval] queries it.
// A damaged file cannot do harm: Open verifies a checksum, and callers read from a segment only
// within [Guard].
package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"sort"
	"strings"
)

// ErrDamaged means that a file is not a segment, or has another Digest than expected.
var ErrDamaged = errors.New("not a usable segment")

// Flags are properties of a file.
type Flags uint16

// The flags.
const (
	Racy   Flags = 1 << iota // it was changed so recently that its stamp does not show the next change
	Always                   // it may match any query
	Binary                   // it never matches
	Linked                   // it has several hard links
)

// A Stamp changes when a file is written to or replaced.
type Stamp struct {
	Size, Modified, Changed int64 // times in nanoseconds
	Ino                     uint64
}

// A File is the entry of one file, without its trigrams.
type File struct {
	Name string
	Stamp
	Flags
}

// A Digest identifies the options of a segment's build.
type Digest [32]byte

// The file format: the lists, tables of fixed-size records, the names, and a trailer with
// the sizes of all these.
const (
	magic      = "mcpwarm1"
	dictSize   = 16 // trigram, count, offset of the list
	fileSize   = 44 // directory, offset of the name, its length, flags, stamp
	dirSize    = 12 // offset of the name, its length, first of its files in the table of numbers
	trailerLen = 8 + 32 + 8*8 + 4 + 4
)

// A Segment is an open segment. It is safe for concurrent use until Close.
type Segment struct {
	data  []byte
	close func() error
	info  os.FileInfo

	files, dirs, terms int
	lists              []byte
	dict               []byte
	records            []byte
	folders            []byte
	numbers            []byte
	names              []byte
	always             []uint32 // files that may match anything
}

// Open maps the segment at path. It returns ErrDamaged if the segment is not usable.
func Open(path string, made Digest) (*Segment, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() < trailerLen || info.Size() != int64(int(info.Size())) {
		return nil, ErrDamaged
	}
	data, unmap, err := mapFile(file, int(info.Size()))
	if err != nil {
		return nil, err
	}
	s := &Segment{data: data, close: unmap, info: info}
	var bad error
	if err := Guard(func() { bad = s.parse(made) }); err != nil || bad != nil {
		return nil, errors.Join(err, bad, unmap())
	}
	return s, nil
}

// Close unmaps the file. No method may be called afterwards.
func (s *Segment) Close() error { return s.close() }

// Len returns the number of files.
func (s *Segment) Len() int { return s.files }

// Size returns the size of the segment in bytes.
func (s *Segment) Size() int { return len(s.data) }

// Same reports whether a file is the file of the segment.
func (s *Segment) Same(info os.FileInfo) bool { return os.SameFile(s.info, info) }

// Guard calls do. It returns an error if do reads from a mapped file that was truncated or
// damaged.
func Guard(do func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	do()
	return nil
}

func (s *Segment) parse(made Digest) error {
	body, trailer := s.data[:len(s.data)-trailerLen], s.data[len(s.data)-trailerLen:]
	sums := trailer[trailerLen-8:]
	if string(trailer[:8]) != magic || Digest(trailer[8:40]) != made ||
		binary.LittleEndian.Uint32(sums[4:]) != sum(trailer[:trailerLen-4]) ||
		binary.LittleEndian.Uint32(sums) != sum(body) {
		return ErrDamaged
	}
	var at [8]uint64
	for i := range at {
		at[i] = binary.LittleEndian.Uint64(trailer[40+8*i:])
	}
	if at[0] > uint64(len(body)) || at[1] > uint64(len(body)) || at[2] > uint64(len(body)) {
		return ErrDamaged
	}
	s.files, s.dirs, s.terms = int(at[0]), int(at[1]), int(at[2])
	rest := body
	cut := func(n int) []byte {
		if n < 0 || n > len(rest) {
			panic("a table is too long")
		}
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	s.lists = cut(int(at[3]))
	s.dict = cut(s.terms * dictSize)
	s.records = cut(s.files * fileSize)
	s.folders = cut((s.dirs + 1) * dirSize)
	s.numbers = cut(s.files * 4)
	s.names = cut(int(at[4]))
	if len(rest) != 0 {
		return ErrDamaged
	}
	for n := range uint32(s.files) {
		if s.Flags(n)&Always != 0 {
			s.always = append(s.always, n)
		}
	}
	return nil
}

func sum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

func u32(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

func (s *Segment) record(n uint32) []byte { return s.records[int(n)*fileSize:][:fileSize] }

// Dir returns the number of a directory that directly contains files.
func (s *Segment) Dir(name string) (int, bool) {
	d := sort.Search(s.dirs, func(i int) bool { return string(s.dirName(i)) >= name })
	return d, d < s.dirs && string(s.dirName(d)) == name
}

// Children returns the number of files directly in a directory.
func (s *Segment) Children(dir int) int {
	return u32(s.folders[(dir+1)*dirSize+8:]) - u32(s.folders[dir*dirSize+8:])
}

// Child returns the number of the ith file in a directory, in the order of their last
// steps.
func (s *Segment) Child(dir, i int) uint32 {
	first := u32(s.folders[dir*dirSize+8:])
	return binary.LittleEndian.Uint32(s.numbers[(first+i)*4:])
}

// Find returns the number of the file with that last step in a directory.
func (s *Segment) Find(dir int, base string) (uint32, bool) {
	n := s.Children(dir)
	i := sort.Search(n, func(i int) bool { return string(s.Base(s.Child(dir, i))) >= base })
	if i == n {
		return 0, false
	}
	file := s.Child(dir, i)
	return file, string(s.Base(file)) == base
}

// Base returns the last step of a file's name. The caller must not change or keep it.
func (s *Segment) Base(n uint32) []byte {
	r := s.record(n)
	from := u32(r[4:])
	return s.names[from : from+int(binary.LittleEndian.Uint16(r[8:]))]
}

func (s *Segment) dirName(dir int) []byte {
	r := s.folders[dir*dirSize:]
	from := u32(r)
	return s.names[from : from+u32(r[4:])]
}

// AppendName appends the name of a file to to.
func (s *Segment) AppendName(to []byte, n uint32) []byte {
	if dir := s.dirName(u32(s.record(n))); string(dir) != "." {
		to = append(append(to, dir...), '/')
	}
	return append(to, s.Base(n)...)
}

// Flags returns the flags of a file.
func (s *Segment) Flags(n uint32) Flags {
	return Flags(binary.LittleEndian.Uint16(s.record(n)[10:]))
}

// Stamp returns the stamp of a file.
func (s *Segment) Stamp(n uint32) Stamp {
	r := s.record(n)[12:]
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(r[8*i:]) }
	return Stamp{Size: int64(at(0)), Modified: int64(at(1)), Changed: int64(at(2)), Ino: at(3)}
}

// Range returns the range [lo, hi) of the files below a directory.
func (s *Segment) Range(dir string) (lo, hi uint32) {
	if dir == "." {
		return 0, uint32(s.files)
	}
	return s.lowest(dir + "/"), s.lowest(dir + string('/'+1))
}

// lowest returns the first file with a name that is not less than name.
func (s *Segment) lowest(name string) uint32 {
	return uint32(sort.Search(s.files, func(i int) bool { return s.compare(uint32(i), name) >= 0 }))
}

// compare compares the name of a file with name.
func (s *Segment) compare(n uint32, name string) int {
	dir, base := s.dirName(u32(s.record(n))), s.Base(n)
	if string(dir) == "." {
		return strings.Compare(string(base), name)
	}
	k := min(len(dir), len(name))
	if c := bytes.Compare(dir[:k], []byte(name[:k])); c != 0 || k == len(name) {
		return cmp.Or(c, 1) // the slash makes it longer than name
	}
	if c := cmp.Compare('/', name[k]); c != 0 {
		return c
	}
	return strings.Compare(string(base), name[k+1:])
}
