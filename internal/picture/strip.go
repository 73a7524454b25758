package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Markers of JPEG segments.
const (
	markSOI  = 0xD8
	markEOI  = 0xD9
	markSOS  = 0xDA
	markAPP0 = 0xE0 // JFIF
	markAPP1 = 0xE1 // Exif and XMP
	markAPP2 = 0xE2 // colour profiles, and thumbnails
	markAdob = 0xEE // the colour transformation
	markLast = 0xEF
	markCOM  = 0xFE
)

// A segment is a part of a JPEG file.
type segment struct {
	marker byte
	data   []byte // with its marker and length
}

func (s segment) body() []byte { return s.data[4:] }

// nextSegment returns the first segment of data and the rest.
func nextSegment(data []byte) (s segment, rest []byte, ok bool) {
	for len(data) > 1 && data[0] == 0xFF && data[1] == 0xFF {
		data = data[1:] // padding
	}
	if len(data) < 4 || data[0] != 0xFF || data[1] == markEOI {
		return s, data, false
	}
	n := 2 + int(binary.BigEndian.Uint16(data[2:]))
	if n < 4 || n > len(data) {
		return s, data, false
	}
	return segment{data[1], data[:n]}, data[n:], true
}

// stripJPEG keeps the segments that are needed to show the image. It refuses an image
// that has to be rotated, because it would lose the orientation.
func stripJPEG(data []byte) ([]byte, bool) {
	if len(data) < 2 || jpegOrientation(data) != 1 {
		return nil, false
	}
	out := append(make([]byte, 0, len(data)), data[:2]...)
	data = data[2:]
	for {
		s, rest, ok := nextSegment(data)
		if !ok {
			if bytes.HasPrefix(data, []byte{0xFF, markEOI}) {
				return append(out, 0xFF, markEOI), true // without what follows
			}
			return nil, false
		}
		data = rest
		if !s.isMetadata() {
			out = append(out, s.data...)
		}
		if s.marker == markSOS {
			n := scanLength(data)
			out = append(out, data[:n]...)
			data = data[n:]
		}
	}
}

func (s segment) isMetadata() bool {
	switch {
	case s.marker == markAPP0:
		return !bytes.HasPrefix(s.body(), []byte("JFIF\x00"))
	case s.marker == markAPP2:
		return !bytes.HasPrefix(s.body(), []byte("ICC_PROFILE\x00"))
	case s.marker == markAdob:
		return !bytes.HasPrefix(s.body(), []byte("Adobe"))
	}
	return s.marker > markAPP0 && s.marker <= markLast || s.marker == markCOM
}

// scanLength returns the length of the encoded pixels, up to the next segment.
func scanLength(data []byte) int {
	for i := 0; i+1 < len(data); i++ {
		if data[i] == 0xFF && data[i+1] != 0 && data[i+1] != 0xFF && (data[i+1] < 0xD0 || data[i+1] > 0xD7) {
			return i
		}
	}
	return len(data)
}

// stripPNG keeps the chunks with pixels and colours.
func stripPNG(data []byte) ([]byte, bool) {
	const signature, around = 8, 12 // length, type and checksum
	if len(data) < signature {
		return nil, false
	}
	out := append(make([]byte, 0, len(data)), data[:signature]...)
	for data = data[signature:]; len(data) >= around; {
		length := int64(binary.BigEndian.Uint32(data)) + around
		if length > int64(len(data)) {
			return nil, false
		}
		part := data[:length]
		data = data[length:]
		if crc32.ChecksumIEEE(part[4:length-4]) != binary.BigEndian.Uint32(part[length-4:]) {
			return nil, false
		}
		switch kind := string(part[4:8]); kind {
		case "IHDR", "PLTE", "IDAT", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "sBIT":
			out = append(out, part...)
		case "IEND":
			return append(out, part...), true
		}
	}
	return nil, false
}

// stripGIF keeps the images and their timing.
func stripGIF(data []byte) ([]byte, bool) {
	g := cursor{rest: data}
	head := g.take(13)
	if head == nil {
		return nil, false
	}
	g.skipColorTable(head[10])
	for !g.short {
		start := g.rest
		switch kind := g.take(1); {
		case kind == nil:
		case kind[0] == 0x3B:
			return append(g.kept(data), 0x3B), true
		case kind[0] == 0x2C:
			if image := g.take(9); image != nil {
				g.skipColorTable(image[8])
			}
			g.take(1)
			g.skipBlocks()
		case kind[0] == 0x21:
			g.skipExtension(start)
		default:
			return nil, false
		}
	}
	return nil, false
}

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
