// Package segment keeps, in one file that never changes, the names and stamps
// of many files and which trigrams each of them has.
//
// It answers which files may match a query, by numbers: a file's number is its
// place in the order of all names. It does not know whether the files are still
// as they were, nor where they are. [Builder] writes a segment, [Open] maps it
// into memory, [Segment.Eval] asks it. What a damaged or foreign file says is
// never trusted: Open compares a sum, and whoever reads from a segment does it
// in [Guard].
package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
)

// ErrDamaged says that a file is not a segment, or not the one that was asked
// for.
var ErrDamaged = errors.New("not a segment that can be used")

// Flags say what is particular about a file.
type Flags uint16

// The flags.
const (
	Racy   Flags = 1 << iota // it was written to so lately that its stamp proves nothing
	Always                   // may match anything
	Binary                   // never matches
	Linked                   // has other names
)

// A Stamp differs when a file was written to or replaced.
type Stamp struct {
	Size, Modified, Changed int64 // times in nanoseconds
	Ino                     uint64
}

// A File is what a segment says about one file, beside its trigrams.
type File struct {
	Name string
	Stamp
	Flags
}

// A Digest names what a segment was made with.
type Digest [32]byte

// A file is its lists, then tables of fixed records, then the names, then a
// trailer that says where all that is.
const (
	magic      = "mcpwarm1"
	dictSize   = 16 // trigram, count, offset of the list
	fileSize   = 44 // directory, offset of the name, its length, flags, stamp
	dirSize    = 12 // offset of the name, its length, first of its files in the table of numbers
	trailerLen = 8 + 32 + 8*8 + 4 + 4
)

// A Segment is open. Its methods may be called from many goroutines, until
// Close.
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

// Open maps the segment at path. ErrDamaged says that it is of no use.
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

// Close lets go of the file. Nobody may use s any more.
func (s *Segment) Close() error { return s.close() }

// Len is the number of files.
func (s *Segment) Len() int { return s.files }

// Size is the size of the whole in bytes.
func (s *Segment) Size() int { return len(s.data) }

// Same reports whether a file is the one that s is.
func (s *Segment) Same(info os.FileInfo) bool { return os.SameFile(s.info, info) }

// Guard does what reads from segments. Where a file is cut short under the
// mapping, or was damaged, it returns an error.
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
