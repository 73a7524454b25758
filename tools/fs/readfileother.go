package fs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// bytes shows the bytes of the file, whatever they mean.
func (r *reading) bytes() (tool.Result, error) {
	from := int64(r.ask.Offset)
	if from < 0 {
		from = max(r.file.Size+from, 0)
	}
	if from > 0 && from >= r.file.Size {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%s has only %d bytes", r.file.Name, r.file.Size).
			Try("with encoding base64 offset counts bytes from 0")
	}
	room := int64(base64.StdEncoding.DecodedLen(r.ask.MaxBytes &^ 3))
	if r.ask.Limit > 0 {
		room = min(room, int64(r.ask.Limit))
	}
	data, err := readUpTo(r.content, from, min(room, r.file.Size-from))
	if err != nil {
		return tool.Result{}, err
	}
	if err := r.secretless(from, data); err != nil {
		return tool.Result{}, err
	}
	end := from + int64(len(data))
	header := fmt.Sprintf("[%s: bytes %d to %d of %d, version %s, base64]", r.file.Name, from, end, r.file.Size, r.version)
	body := base64.StdEncoding.EncodeToString(data)
	if end < r.file.Size {
		body += fmt.Sprintf("\n[go on with offset %d]", end)
	}
	return tool.Text(header + "\n" + body), nil
}

// binary shows an image, or says what the file is.
func (t readFile) binary(ctx context.Context, r *reading) (tool.Result, error) {
	facts := fmt.Sprintf("%s, %s, version %s", r.kind.Name, size(r.file.Size), r.version)
	if picture.Shows(r.head) {
		p, err := t.picture(ctx, r)
		switch {
		case err == nil:
			return tool.Textf("[%s: %s]", r.file.Name, tell(p, r)).Add(tool.Part{Data: p.Data, MIME: p.MIME}), nil
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case errors.Is(err, picture.ErrTooLarge):
			return tool.Textf("[%s: %s; not shown: %v; scale it down with a command first]", r.file.Name, facts, err), nil
		}
		return tool.Textf("[%s: %s; not shown: it could not be decoded; encoding base64 gives its bytes]", r.file.Name, facts), nil
	}
	if more := r.facts(); more != "" {
		facts += ", " + more
	}
	return tool.Textf("[%s: %s; no text: %s]", r.file.Name, facts, r.instead()), nil
}

// picture loads the image when there is a place for it.
func (t readFile) picture(ctx context.Context, r *reading) (picture.Picture, error) {
	select {
	case t.images <- struct{}{}:
	case <-ctx.Done():
		return picture.Picture{}, ctx.Err()
	}
	defer func() { <-t.images }()
	return picture.Load(ctx, r.content, r.file.Size)
}

// tell says what picture the model sees, and how it differs from the file.
func tell(p picture.Picture, r *reading) string {
	told := fmt.Sprintf("%dx%d %s, %s, version %s", p.Width, p.Height, p.Format, size(int64(len(p.Data))), r.version)
	switch {
	case p.Width*p.Height != p.FromWidth*p.FromHeight:
		told += fmt.Sprintf(", scaled from %dx%d %s, %s", p.FromWidth, p.FromHeight, p.FromFormat, size(r.file.Size))
	case p.Format != p.FromFormat:
		told += fmt.Sprintf(", made from %s, %s", p.FromFormat, size(r.file.Size))
	}
	return told
}

// facts tells what the beginning or the end of the file gives away.
func (r *reading) facts() string {
	switch {
	case r.kind.MIME == "application/pdf":
		line, _, _ := bytes.Cut(r.head[:min(len(r.head), 16)], []byte("\n"))
		number := strings.TrimRight(string(bytes.TrimPrefix(line, []byte("%PDF-"))), "\r ")
		if len(number) == 3 && number[1] == '.' {
			return "PDF " + number
		}
	case bytes.HasPrefix(r.head, []byte("PK")):
		if n := r.zipEntries(); n >= 0 {
			return counted(n, "entry", "entries")
		}
	}
	return ""
}

// zipEntries is the number of entries that a zip archive says it has, -1 when
// it does not.
func (r *reading) zipEntries() int {
	const longest, record, many = 22 + 4096, 22, 0xFFFF // with some comment
	from := max(r.file.Size-longest, 0)
	tail, err := readUpTo(r.content, from, r.file.Size-from)
	if err != nil {
		return -1
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < record {
		return -1
	}
	if n := binary.LittleEndian.Uint16(tail[at+10:]); n != many {
		return int(n)
	}
	return -1
}

// instead says what to do with a file that is no text.
func (r *reading) instead() string {
	const raw = "encoding base64 gives its bytes"
	mime := r.kind.MIME
	switch {
	case mime == "application/pdf":
		return "turn it into text with a command such as pdftotext"
	case mime == "text/plain":
		return "turn it into UTF-8 with a command such as iconv"
	case strings.HasPrefix(mime, "application/vnd.openxmlformats"), strings.HasPrefix(mime, "application/vnd.oasis"),
		mime == "application/epub+zip", mime == "application/x-ole-storage":
		return "turn it into text with a command such as pandoc or libreoffice"
	case bytes.HasPrefix(r.head, []byte("PK")), strings.HasSuffix(r.kind.Name, "archive"):
		return "list or unpack it with a command"
	case mime == "application/vnd.sqlite3":
		return "query it with a command such as sqlite3"
	case strings.HasPrefix(mime, "image/"):
		return "convert it to PNG with a command, then read that"
	}
	return raw
}
