package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// orientation reads which way up an image is, 1 when it does not say.
func orientation(file io.Reader, mime string) (int, error) {
	head := make([]byte, 128<<10) // Exif comes first and has at most 64 kB
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 1, err
	}
	head = head[:n]
	if mime == "image/tiff" {
		return sideOf(head), nil
	}
	return jpegSide(head), nil
}

// jpegSide finds the orientation in the segments before the picture.
func jpegSide(data []byte) int {
	for data = data[min(2, len(data)):]; ; {
		s, rest, ok := nextSegment(data)
		if !ok || s.marker == markSOS {
			return 1
		}
		if exif, ok := bytes.CutPrefix(s.body(), []byte("Exif\x00\x00")); ok && s.marker == markAPP1 {
			return sideOf(exif)
		}
		data = rest
	}
}

// sideOf reads the orientation from a TIFF directory, which Exif has as well.
func sideOf(t []byte) int {
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
			if side := int(order.Uint16(entries[8:])); side >= 1 && side <= 8 {
				return side
			}
			break
		}
		entries = entries[entry:]
	}
	return 1
}
