package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxPage is the most that one answer returns, in bytes.
const MaxPage = 1 << 20

// A Page is a piece of a result. It never begins or ends inside a rune.
type Page struct {
	Text   string
	Offset int64 // where it begins, in bytes
	Next   int64 // where to go on; Size at the end
	Size   int64 // of the whole result
}

// Page returns at most limit bytes from offset on. An offset inside a rune
// means that rune, and one that is out of range its nearest end. A limit that
// is out of range means MaxPage, and one that is smaller than the first rune
// that rune.
func (s *Store) Page(owner, id string, offset int64, limit int) (Page, error) {
	item, err := s.Get(owner, id)
	if err != nil {
		return Page{}, err
	}
	p, err := page(item, offset, pageLimit(limit))
	return p, closing(item, err)
}

// Tail returns the last lines, at most limit bytes of them; of more, the end.
// A newline at the very end does not count as a line.
func (s *Store) Tail(owner, id string, lines, limit int) (Page, error) {
	item, err := s.Get(owner, id)
	if err != nil {
		return Page{}, err
	}
	p, err := tail(item, lines, pageLimit(limit))
	return p, closing(item, err)
}

// closing closes what was read, after which err is what went wrong.
func closing(item *Item, err error) error {
	if err = errors.Join(err, item.Close()); err != nil {
		return fmt.Errorf("reading a kept result: %w", err)
	}
	return nil
}

func pageLimit(limit int) int64 {
	if limit < 1 || limit > MaxPage {
		return MaxPage
	}
	return int64(limit)
}

func page(item *Item, offset, limit int64) (Page, error) {
	size := item.Size()
	offset = min(max(offset, 0), size)
	// Read what may belong to the first rune, and what may to the last.
	from := max(offset-utf8.UTFMax+1, 0)
	text, err := readAt(item, from, min(offset+limit+utf8.UTFMax, size))
	if err != nil {
		return Page{}, err
	}
	start := runeStart(text, int(offset-from))
	end := runeStart(text, min(start+int(limit), len(text)))
	if end <= start && start < len(text) {
		_, width := utf8.DecodeRune(text[start:])
		end = start + width
	}
	return Page{Text: string(text[start:end]), Offset: from + int64(start), Next: from + int64(end), Size: size}, nil
}

func tail(item *Item, lines int, limit int64) (Page, error) {
	size := item.Size()
	if lines < 1 {
		return Page{Offset: size, Next: size, Size: size}, nil
	}
	from := max(size-limit, 0)
	before := max(from-utf8.UTFMax, 0)
	text, err := readAt(item, before, size)
	if err != nil {
		return Page{}, err
	}
	start := runeEnd(text, int(from-before))
	start += lastLines(text[start:], lines)
	return Page{Text: string(text[start:]), Offset: before + int64(start), Next: size, Size: size}, nil
}

// lastLines is where the last n lines of text begin.
func lastLines(text []byte, n int) int {
	end := len(bytes.TrimSuffix(text, []byte("\n")))
	for ; n > 0; n-- {
		if end = bytes.LastIndexByte(text[:end], '\n'); end < 0 {
			return 0
		}
	}
	return end + 1
}

func readAt(r io.ReaderAt, from, to int64) ([]byte, error) {
	text := make([]byte, to-from)
	n, err := r.ReadAt(text, from)
	if err == io.EOF && n == len(text) {
		err = nil
	}
	return text[:n], err
}

// runeStart moves at back to where the rune begins that it is inside of. Bytes
// that are no rune are each on their own.
func runeStart(text []byte, at int) int {
	for i := at - 1; i >= 0 && i > at-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if _, width := utf8.DecodeRune(text[i:]); i+width > at {
				return i
			}
			break
		}
	}
	return at
}

// runeEnd moves at on to where the rune ends that it is inside of.
func runeEnd(text []byte, at int) int {
	start := runeStart(text, at)
	if start == at {
		return at
	}
	_, width := utf8.DecodeRune(text[start:])
	return start + width
}
