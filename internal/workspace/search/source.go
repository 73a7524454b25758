package search

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// A memorySource is a text that is there already.
type memorySource struct {
	text []byte
	at   int
}

func (m *memorySource) size() int64 { return int64(len(m.text)) }

func (m *memorySource) read(p []byte) (n int, end bool, err error) {
	n = copy(p, m.text[m.at:])
	m.at += n
	return n, m.at == len(m.text), nil
}

// A fileSource is the content of a file, as long as it was when it was opened.
type fileSource struct {
	handle
	length, at int64
}

func (f *fileSource) size() int64 { return f.length }

func (f *fileSource) read(p []byte) (n int, end bool, err error) {
	p = p[:min(int64(len(p)), f.length-f.at)]
	for n < len(p) {
		got, err := f.readAt(p[n:], f.at)
		if err != nil {
			return n, false, err
		}
		if got == 0 { // it became shorter
			f.length = f.at
			break
		}
		n += got
		f.at += int64(got)
	}
	return n, f.at == f.length, nil
}

// A utf16Decoder makes UTF-8 of UTF-16.
type utf16Decoder struct {
	src   source
	order binary.ByteOrder
	raw   []byte // read and not yet decoded
	ended bool   // nothing comes after raw
	begun bool
}

// utf16DecoderFor returns what decodes a text that begins with head, if that is
// needed. A mark of UTF-32 is none of UTF-16.
func utf16DecoderFor(head []byte, src source) *utf16Decoder {
	if _, is := src.(*utf16Decoder); is || len(head) < 2 {
		return nil
	}
	switch {
	case head[0] == 0xFE && head[1] == 0xFF:
		return &utf16Decoder{src: src, order: binary.BigEndian}
	case head[0] == 0xFF && head[1] == 0xFE && (len(head) < 4 || head[2] != 0 || head[3] != 0):
		return &utf16Decoder{src: src, order: binary.LittleEndian}
	}
	return nil
}

func (d *utf16Decoder) size() int64 { return d.src.size()/2*3 + utf8.UTFMax }

func (d *utf16Decoder) read(p []byte) (n int, end bool, err error) {
	if !d.begun {
		d.raw, d.begun = d.raw[2:], true
	}
	for n+utf8.UTFMax <= len(p) {
		if len(d.raw) < 4 && !d.ended {
			if err := d.fill(); err != nil {
				return n, false, err
			}
		}
		if len(d.raw) < 2 {
			return n, true, nil
		}
		r := d.unit()
		if utf16.IsSurrogate(r) {
			r = d.pair(r)
		}
		n += utf8.EncodeRune(p[n:], r)
	}
	return n, false, nil
}

func (d *utf16Decoder) unit() rune {
	u := d.order.Uint16(d.raw)
	d.raw = d.raw[2:]
	return rune(u)
}

// pair takes the second half of a rune, if it is there.
func (d *utf16Decoder) pair(first rune) rune {
	if len(d.raw) < 2 {
		return utf8.RuneError
	}
	r := utf16.DecodeRune(first, rune(d.order.Uint16(d.raw)))
	if r != utf8.RuneError {
		d.raw = d.raw[2:]
	}
	return r
}

func (d *utf16Decoder) fill() error {
	const chunk = 64 << 10
	next := make([]byte, len(d.raw)+chunk)
	kept := copy(next, d.raw)
	n, end, err := d.src.read(next[kept:])
	d.raw, d.ended = next[:kept+n], end
	return err
}
