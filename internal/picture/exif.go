package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// orientation returns the Exif orientation of an image, from 1 to 8; 1 by default.
func orientation(file io.Reader, mime string) (int, error) {
	head := make([]byte, 128<<10) // Exif comes first and has at most 64 kB
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 1, err
	}
	head = head[:n]
	if mime == "image/tiff" {
		return tiffOrientation(head), nil
	}
	return jpegOrientation(head), nil
}

// jpegOrientation returns the orientation in the segments before the pixels.
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

// tiffOrientation returns the orientation in a TIFF directory, which Exif also uses.
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
