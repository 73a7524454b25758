package mail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/richardlehane/mscfb"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/document/rtf"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

// ReadMSG reads a mail of Outlook.
func ReadMSG(ctx context.Context, src document.Source) (*document.Document, error) {
	m, err := readMSG(ctx, src)
	if err != nil {
		return nil, err
	}
	return m.document(src.Limits), nil
}

// OpenMSG returns an attachment of a mail of Outlook.
func OpenMSG(ctx context.Context, src document.Source, name string) (document.Source, error) {
	m, err := readMSG(ctx, src)
	if err != nil {
		return src, err
	}
	return m.open(src, name)
}

// storage is a directory of streams in the file: a mail, an attachment or a recipient.
type storage struct {
	streams  map[string][]byte
	children map[string]*storage
	header   int // bytes before the properties
}

func readMSG(ctx context.Context, src document.Source) (m *message, err error) {
	if src.Size > src.Limits.Part {
		return nil, document.Errorf(document.ErrTooBig, "the mail has over %d MB", src.Limits.Part>>20)
	}
	broken := document.Errorf(document.ErrBroken, "the mail of Outlook is damaged")
	defer func() {
		if recover() != nil { // the library panics on some damaged files
			m, err = nil, broken
		}
	}()
	f, err := mscfb.New(src.Data)
	if err != nil {
		return nil, broken
	}
	root := &storage{header: 32}
	var total int64
	for entry, err := f.Next(); err == nil; entry, err = f.Next() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(entry.Path) > 2*maxDepth || entry.FileInfo().IsDir() {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(entry, src.Size))
		if total += int64(len(data)); err != nil || total > 2*src.Size {
			return nil, broken
		}
		root.at(entry.Path).streams[entry.Name] = data
	}
	if root.streams["__properties_version1.0"] == nil {
		return nil, broken
	}
	return root.message(ctx, src.Limits)
}

// at returns the storage at a path, made if there is none yet.
func (s *storage) at(path []string) *storage {
	if s.streams == nil {
		s.streams, s.children = map[string][]byte{}, map[string]*storage{}
	}
	if len(path) == 0 {
		return s
	}
	child := s.children[path[0]]
	if child == nil {
		child = &storage{header: 8}
		if strings.HasSuffix(path[0], "_3701000D") {
			child.header = 24 // a mail within a mail
		}
		s.children[path[0]] = child
	}
	return child.at(path[1:])
}

// value returns a property of fixed size.
func (s *storage) value(id uint16) (uint64, bool) {
	data := s.streams["__properties_version1.0"]
	for at := s.header; at+16 <= len(data); at += 16 {
		if binary.LittleEndian.Uint16(data[at+2:]) == id {
			return binary.LittleEndian.Uint64(data[at+8:]), true
		}
	}
	return 0, false
}

// text returns a property that is text.
func (s *storage) text(id string, page string) string {
	if data, ok := s.streams["__substg1.0_"+id+"001F"]; ok {
		return strings.TrimRight(decode(data, "utf-16le"), "\x00")
	}
	return strings.TrimRight(decode(s.streams["__substg1.0_"+id+"001E"], page), "\x00")
}

func decode(data []byte, name string) string {
	if e, err := htmlindex.Get(name); err == nil {
		if text, err := e.NewDecoder().Bytes(data); err == nil {
			data = text
		}
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}

// message returns the mail in a storage.
func (s *storage) message(ctx context.Context, limits document.Limits) (*message, error) {
	page := "windows-1252"
	for _, id := range []uint16{0x3ffd, 0x3fde} {
		if n, ok := s.value(id); ok && rtf.CodePage(int(int32(n))) != "" {
			page = rtf.CodePage(int(int32(n)))
			break
		}
	}
	m := &message{subject: md.OneLine(s.text("0037", page))}
	s.readFields(m, page)
	body, err := s.body(ctx, page, limits)
	if err != nil {
		return nil, err
	}
	m.text = body
	for _, name := range s.names("__attach_version1.0_#") {
		child := s.children[name]
		file := cmp.Or(cmp.Or(child.text("3707", page), child.text("3704", page)), child.text("3001", page))
		if embedded := child.children["__substg1.0_3701000D"]; embedded != nil {
			inner, err := embedded.message(ctx, limits)
			if err != nil {
				return nil, err
			}
			text := inner.markdown(limits.Text)
			m.attach(cmp.Or(strings.TrimSuffix(file, ".msg"), "mail")+".md", "text/markdown", []byte(text))
			continue
		}
		if data := child.streams["__substg1.0_37010102"]; data != nil {
			m.attach(file, cmp.Or(child.text("370E", page), "application/octet-stream"), data)
		}
	}
	return m, nil
}

// names returns the children with names that begin with prefix, in order.
func (s *storage) names(prefix string) []string {
	var names []string
	for name := range s.children {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxParts)]
}

// readFields reads the header: of the mail as it was sent, else Outlook's properties.
func (s *storage) readFields(m *message, page string) {
	add := func(name, value string) {
		if value = md.OneLine(value); value != "" {
			m.fields = append(m.fields, field{name, value})
		}
	}
	var sent mail.Header
	if raw := s.text("007D", page); raw != "" {
		if parsed, err := mail.ReadMessage(strings.NewReader(strings.TrimSpace(raw) + "\r\n\r\n")); err == nil {
			sent = parsed.Header
		}
	}
	address := cmp.Or(s.text("5D01", page), s.text("0C1F", page))
	from := s.text("0C1A", page)
	if strings.Contains(address, "@") && address != from {
		from = strings.TrimSpace(from + " <" + address + ">")
	}
	add("From", cmp.Or(decodeHeader(sent.Get("From")), from))
	recipients := map[uint64][]string{}
	for _, name := range s.names("__recip_version1.0_#") {
		child := s.children[name]
		kind, _ := child.value(0x0c15)
		one, address := child.text("3001", page), cmp.Or(child.text("39FE", page), child.text("3003", page))
		if strings.Contains(address, "@") && address != one {
			one = strings.TrimSpace(one + " <" + address + ">")
		}
		recipients[kind&0xffffffff] = append(recipients[kind&0xffffffff], one)
	}
	to, cc := strings.Join(recipients[1], ", "), strings.Join(recipients[2], ", ")
	add("To", cmp.Or(decodeHeader(sent.Get("To")), cmp.Or(to, s.text("0E04", page))))
	add("Cc", cmp.Or(decodeHeader(sent.Get("Cc")), cmp.Or(cc, s.text("0E03", page))))
	date := sent.Get("Date")
	for _, id := range []uint16{0x0039, 0x0e06} {
		if ticks, ok := s.value(id); ok && date == "" {
			// Ticks of 100 ns since 1601.
			seconds := int64(ticks/10_000_000) - 11_644_473_600
			date = time.Unix(seconds, 0).UTC().Format(time.RFC1123Z)
		}
	}
	add("Date", date)
}

// body returns the text of the mail: plain text, else HTML, else rich text.
func (s *storage) body(ctx context.Context, codePage string, limits document.Limits) (string, error) {
	if text := tidy(s.text("1000", codePage)); text != "" {
		return text, nil
	}
	html := s.streams["__substg1.0_10130102"]
	if html == nil {
		html = []byte(s.text("1013", codePage))
	}
	if len(bytes.TrimSpace(html)) > 0 {
		converted, err := page.Read(ctx, html, page.Options{Whole: true})
		return converted.Text, err
	}
	rich := decompress(s.streams["__substg1.0_10090102"], limits.Part)
	if len(rich) == 0 {
		return "", nil
	}
	doc, err := rtf.Convert(ctx, rich, limits)
	if err != nil {
		return "", nil // the header and the attachments are of use without it
	}
	return doc.Parts[0].Markdown, nil
}

// decompress returns compressed rich text, as MS-OXRTFCP describes it.
func decompress(data []byte, limit int64) []byte {
	const header = 16
	if len(data) < header {
		return nil
	}
	size := int(min(int64(binary.LittleEndian.Uint32(data[4:])), limit))
	switch string(data[8:12]) {
	case "MELA":
		return data[header:min(len(data), header+size)]
	case "LZFu":
	default:
		return nil
	}
	const known = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript ` +
		`\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" +
		`\par \pard\plain\f0\fs20\b\i\u\tab\tx`
	var window [4096]byte
	at := copy(window[:], known)
	var out []byte
	for in := header; in < len(data) && len(out) < size; {
		flags := data[in]
		in++
		for bit := 0; bit < 8 && in < len(data) && len(out) < size; bit++ {
			if flags>>bit&1 == 0 {
				window[at] = data[in]
				out = append(out, data[in])
				at, in = (at+1)%len(window), in+1
				continue
			}
			if in+1 >= len(data) {
				return out
			}
			reference := int(data[in])<<8 | int(data[in+1])
			in += 2
			from, length := reference>>4, reference&15+2
			if from == at {
				return out
			}
			for range length {
				c := window[from]
				window[at] = c
				out = append(out, c)
				from, at = (from+1)%len(window), (at+1)%len(window)
			}
		}
	}
	return out
}
