package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"sort"
	"strings"
)

func u32(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

func (s *Segment) record(n uint32) []byte { return s.records[int(n)*fileSize:][:fileSize] }

// Dir returns the number of a directory that holds files itself, or false.
func (s *Segment) Dir(name string) (int, bool) {
	d := sort.Search(s.dirs, func(i int) bool { return string(s.dirName(i)) >= name })
	return d, d < s.dirs && string(s.dirName(d)) == name
}

// Children returns how many files a directory holds itself.
func (s *Segment) Children(dir int) int {
	return u32(s.folders[(dir+1)*dirSize+8:]) - u32(s.folders[dir*dirSize+8:])
}

// Child returns the number of a file in a directory. They are in the order of
// their last steps.
func (s *Segment) Child(dir, i int) uint32 {
	first := u32(s.folders[dir*dirSize+8:])
	return binary.LittleEndian.Uint32(s.numbers[(first+i)*4:])
}

// Find returns the number of the file of that name in a directory.
func (s *Segment) Find(dir int, base string) (uint32, bool) {
	n := s.Children(dir)
	i := sort.Search(n, func(i int) bool { return string(s.Base(s.Child(dir, i))) >= base })
	if i == n {
		return 0, false
	}
	file := s.Child(dir, i)
	return file, string(s.Base(file)) == base
}

// Base is the last step of a file's name. It must not be changed, nor kept.
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

// AppendName appends the name of a file.
func (s *Segment) AppendName(to []byte, n uint32) []byte {
	if dir := s.dirName(u32(s.record(n))); string(dir) != "." {
		to = append(append(to, dir...), '/')
	}
	return append(to, s.Base(n)...)
}

// Flags of a file.
func (s *Segment) Flags(n uint32) Flags {
	return Flags(binary.LittleEndian.Uint16(s.record(n)[10:]))
}

// Stamp of a file.
func (s *Segment) Stamp(n uint32) Stamp {
	r := s.record(n)[12:]
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(r[8*i:]) }
	return Stamp{Size: int64(at(0)), Modified: int64(at(1)), Changed: int64(at(2)), Ino: at(3)}
}

// Range returns the files beneath a directory: those from lo to before hi.
func (s *Segment) Range(dir string) (lo, hi uint32) {
	if dir == "." {
		return 0, uint32(s.files)
	}
	return s.lowest(dir + "/"), s.lowest(dir + string('/'+1))
}

// lowest is the first file whose name is not before that.
func (s *Segment) lowest(name string) uint32 {
	return uint32(sort.Search(s.files, func(i int) bool { return s.compare(uint32(i), name) >= 0 }))
}

// compare puts the name of a file in order with another.
func (s *Segment) compare(n uint32, name string) int {
	dir, base := s.dirName(u32(s.record(n))), s.Base(n)
	if string(dir) == "." {
		return strings.Compare(string(base), name)
	}
	k := min(len(dir), len(name))
	if c := bytes.Compare(dir[:k], []byte(name[:k])); c != 0 || k == len(name) {
		return cmp.Or(c, 1) // the slash makes it longer
	}
	if c := cmp.Compare('/', name[k]); c != 0 {
		return c
	}
	return strings.Compare(string(base), name[k+1:])
}
