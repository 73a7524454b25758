package segment

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// A Builder gathers trigrams of files and writes a segment. It is for one
// goroutine. Close it.
type Builder struct {
	dir    string // for what does not fit into memory
	memory int
	table  []slot // by a hash of the trigram
	used   int
	blocks []block
	runs   []*run
}

// NewBuilder returns a builder that takes about so many bytes of memory, and
// keeps more in files in dir.
func NewBuilder(dir string, memory int) *Builder { return &Builder{dir: dir, memory: memory} }

// A slot is a list under construction.
type slot struct {
	key        uint32 // the trigram and 1; 0 is a free slot
	last       uint32 // number in it
	count      uint32
	head, tail uint32 // blocks
	fill       uint32 // bytes in the tail
}

// A block is a piece of a list. Block 0 is none.
type block struct {
	data [12]byte
	next uint32
}

const (
	slotBytes  = 24
	blockBytes = 16
)

// Add says which trigrams a file has. Numbers grow from call to call.
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

// write puts one byte of a list where there is room.
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

// A source yields lists in the order of their trigrams.
type source interface {
	// next returns the next trigram, io.EOF after the last.
	next() (trigram.T, error)
	// numbers appends the list of that trigram, in order.
	numbers(to []uint32) []uint32
}

// A memorySource is the source of what a builder holds itself.
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

// An Previous segment passes on its lists: Now[n] is the new number of its file n
// and 1, or 0 for a file that is left out. The order stays.
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
