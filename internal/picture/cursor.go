package picture

import (
	"bytes"
	"encoding/binary"
)

// A cursor reads a file block by block.
type cursor struct {
	rest  []byte
	short bool     // the file is truncated
	drop  [][2]int // ranges to leave out, as the number of bytes left at begin and end
}

// take returns the next n bytes, or nil if there are fewer.
func (c *cursor) take(n int) []byte {
	if len(c.rest) < n {
		c.short = true
		return nil
	}
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

// skipColorTable skips a colour table, if the flags announce one.
func (c *cursor) skipColorTable(flags byte) {
	if flags&0x80 != 0 {
		c.take(3 << (flags&7 + 1))
	}
}

// skipBlocks skips blocks up to an empty one.
func (c *cursor) skipBlocks() {
	for {
		n := c.take(1)
		if n == nil || n[0] == 0 {
			return
		}
		c.take(int(n[0]))
	}
}

// skipExtension skips an extension that begins at start, and drops it unless it
// controls how the images are shown.
func (c *cursor) skipExtension(start []byte) {
	const control, application = 0xF9, 0xFF
	label := c.take(1)
	body := c.rest
	c.skipBlocks()
	if label == nil || label[0] == control || label[0] == application &&
		bytes.HasPrefix(body, []byte("\x0bNETSCAPE2.0")) {
		return
	}
	c.drop = append(c.drop, [2]int{len(start), len(c.rest)})
}

// kept returns what was read of data and not dropped, without its last byte.
func (c *cursor) kept(data []byte) []byte {
	out, from := make([]byte, 0, len(data)), 0
	for _, d := range c.drop {
		out = append(out, data[from:len(data)-d[0]]...)
		from = len(data) - d[1]
	}
	return append(out, data[from:len(data)-len(c.rest)-1]...)
}

// stripWebP removes Exif and XMP, also the orientation in Exif, which hardly any
// program writes.
func stripWebP(data []byte) ([]byte, bool) {
	const head, flagsAt, exifAndXMP = 12, 8, 0x08 | 0x04
	c := cursor{rest: data}
	riff := c.take(head)
	if riff == nil {
		return nil, false
	}
	size := int64(binary.LittleEndian.Uint32(riff[4:])) + 8
	if size < head || size > int64(len(data)) {
		return nil, false
	}
	c.rest = data[head:size]
	out := append(make([]byte, 0, len(data)), riff...)
	for len(c.rest) > 0 {
		start := c.rest
		chunk := c.take(8)
		if chunk == nil {
			return nil, false
		}
		length := binary.LittleEndian.Uint32(chunk[4:])
		if int64(length) > int64(len(c.rest)) {
			return nil, false
		}
		c.take(min(int(length+length&1), len(c.rest)))
		switch string(chunk[:4]) {
		case "VP8X":
			at := len(out) + flagsAt
			if out = append(out, start[:len(start)-len(c.rest)]...); len(out) > at {
				out[at] &^= exifAndXMP
			}
		case "VP8 ", "VP8L", "ALPH", "ANIM", "ANMF", "ICCP":
			out = append(out, start[:len(start)-len(c.rest)]...)
		}
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, true
}
