package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxPage is the maximum length of a page, in bytes.
const MaxPage = 1 << 20

// A Page is a part of a result. It never begins or ends inside a rune.
type Page struct {
	Text   string
	Offset int64 // where it begins, in bytes
	Next   int64 // where the next page begins; Size at the end
	Size   int64 // of the whole result
}

// Page returns at most limit bytes from offset on. It moves an offset inside a rune to the beginning of the rune, and
// one that is out of range to the nearest end of the result. A limit out of range means MaxPage. The page has at least
// one rune, also if that is longer than limit.
func (s *Store) Page(ctx context.Context, owner, id string, offset int64, limit int) (Page, error) {
	item, err := s.Get(ctx, owner, id)
	if err != nil {
		return Page{}, err
	}
	p, err := page(item, offset, pageLimit(limit))
	return p, closeItem(item, err)
}

// Tail returns the last lines, or as much of their end as limit bytes hold. A newline at the very end does not count as
// a line.
func (s *Store) Tail(ctx context.Context, owner, id string, lines, limit int) (Page, error) {
	item, err := s.Get(ctx, owner, id)
	if err != nil {
		return Page{}, err
	}
	p, err := tail(item, lines, pageLimit(limit))
	return p, closeItem(item, err)
}

// closeItem closes an item and joins the error of reading it.
func closeItem(item *Item, err error) error {
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
	// Read the bytes before and after that may belong to the first and the last rune.
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

// lastLines returns where the last n lines of text begin.
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

// runeStart returns where the rune that contains position at begins. An invalid byte counts as a rune.
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

// runeEnd returns where the rune that contains position at ends; at itself if a rune begins there.
func runeEnd(text []byte, at int) int {
	start := runeStart(text, at)
	if start == at {
		return at
	}
	_, width := utf8.DecodeRune(text[start:])
	return start + width
}
