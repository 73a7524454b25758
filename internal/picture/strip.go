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
				return append(out, 0xFF, markEOI), true // without the following segments
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

// jpegOrientation returns the Exif orientation in the segments before the pixels, from 1
// to 8; 1 by default.
func jpegOrientation(data []byte) int {
	for data = data[min(2, len(data)):]; ; {
		s, rest, ok := nextSegment(data)
		if !ok || s.marker == markSOS {
			return 1
		}
		if exif, ok := bytes.CutPrefix(s.body(), []byte("Exif\x00\x00")); ok && s.marker == markAPP1 {
			return tiffOrientation(exif)
		}
		data = rest
	}
}

// tiffOrientation returns the orientation in a TIFF directory. Exif uses such a directory too.
func tiffOrientation(t []byte) int {
	var order binary.ByteOrder = binary.BigEndian
	if bytes.HasPrefix(t, []byte("II")) {
		order = binary.LittleEndian
	}
	if len(t) < 8 {
		return 1
	}
	at := int64(order.Uint32(t[4:]))
	if at+2 > int64(len(t)) {
		return 1
	}
	entries := t[at+2:]
	const orientationTag, entry = 0x0112, 12
	for range order.Uint16(t[at:]) {
		if len(entries) < entry {
			break
		}
		if order.Uint16(entries) == orientationTag {
			if value := int(order.Uint16(entries[8:])); value >= 1 && value <= 8 {
				return value
			}
			break
		}
		entries = entries[entry:]
	}
	return 1
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
