// Package mail reads mails: single ones as files of type eml and Outlook's msg, and mailboxes
// of many. It returns the important header fields, the text of a mail once although it is
// often there twice, as text and as HTML, and the list of attachments. An attachment is
// opened by its name or number. Begin with Read.
//
// The standard library parses. github.com/emersion/go-message v0.18.2 was tried with some 50 damaged
// mails: it refuses one for a line of the header that is no field or a header of over 1 MB, ends at the
// first wrong byte of base64, and leaves texts whose charset is missing or wrong as they are. Here all
// of these are read.
package mail

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/ianaindex"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

// Bounds of one mail.
const (
	maxDepth = 20   // parts within parts
	maxParts = 2000 // text and attachments
)

// A Letter is a mail for programs that answer mails.
type Letter struct {
	Header  textproto.MIMEHeader // as it is written; of repeated fields, the first one is the latest
	Subject string
	Text    string // Markdown
	Files   []document.Member
}

// Parse reads a mail. The end of the mail may be missing.
func Parse(ctx context.Context, raw []byte) (*Letter, error) {
	m, err := parse(ctx, raw)
	if err != nil {
		return nil, err
	}
	return &Letter{Header: m.header, Subject: m.subject, Text: m.text, Files: m.members()}, nil
}

// Decode decodes the value of a field of a header.
func Decode(value string) string { return md.OneLine(decodeHeader(value)) }

// message is a mail that has been read.
type message struct {
	header      textproto.MIMEHeader
	fields      []field // header fields, in the order of the output
	subject     string
	text        string // Markdown
	attachments []attachment
	notes       []string
}

type field struct{ name, value string }

// attachment is a file in a mail. Its name is unique.
type attachment struct {
	name, kind string
	data       []byte
}

// Read reads a mail.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	m, err := readSource(ctx, src)
	if err != nil {
		return nil, err
	}
	return m.document(src.Limits), nil
}

// Open returns an attachment of a mail.
func Open(ctx context.Context, src document.Source, name string) (document.Source, error) {
	m, err := readSource(ctx, src)
	if err != nil {
		return src, err
	}
	return m.open(src, name)
}

func readSource(ctx context.Context, src document.Source) (*message, error) {
	if src.Size > src.Limits.Part {
		return nil, document.Errorf(document.ErrTooBig, "the mail has over %d MB", src.Limits.Part>>20)
	}
	raw, err := io.ReadAll(src.Reader())
	if err != nil {
		return nil, err
	}
	return parse(ctx, raw)
}

func (m *message) document(limits document.Limits) *document.Document {
	text := m.markdown(limits.Text)
	return &document.Document{
		Title: m.subject, Total: 1, Parts: []document.Part{{Number: 1, Markdown: text}}, Notes: m.notes,
		Members: m.members(),
	}
}

func (m *message) members() (all []document.Member) {
	for _, a := range m.attachments {
		all = append(all, document.Member{Name: a.name, Size: int64(len(a.data)), Type: a.kind})
	}
	return all
}

// markdown returns the header, the text and the list of attachments.
func (m *message) markdown(limit int) string {
	out := md.Writer{Limit: limit}
	out.Heading(1, md.Sentence(m.subject))
	var lines []string
	for _, f := range m.fields {
		lines = append(lines, f.name+": "+md.OneLine(f.value))
	}
	out.Paragraph(strings.Join(lines, "\n"))
	if len(m.text) > limit {
		m.text = strings.ToValidUTF8(m.text[:limit], "")
		m.notes = append(m.notes, "The mail exceeds the maximum length; its end is missing.")
	}
	out.Paragraph(m.text)
	if len(m.attachments) > 0 {
		out.Paragraph("Attachments:")
	}
	for i, a := range m.attachments {
		out.Item(0, strconv.Itoa(i+1)+".", fmt.Sprintf("%s (%s, %d bytes)", md.Sentence(a.name), md.Sentence(a.kind),
			len(a.data)))
	}
	return out.String()
}

// open returns an attachment by its name or number.
func (m *message) open(src document.Source, name string) (document.Source, error) {
	for i, a := range m.attachments {
		if a.name == name || strconv.Itoa(i+1) == name {
			src.Name, src.Data, src.Size = a.name, bytes.NewReader(a.data), int64(len(a.data))
			return src, nil
		}
	}
	if len(m.attachments) == 0 {
		return src, document.Errorf(document.ErrNoMember, "the mail has no attachments")
	}
	return src, document.Errorf(document.ErrNoMember,
		"the mail has no attachment %.100q; they are numbered from 1 to %d",
		name, len(m.attachments))
}

// attach adds an attachment under a unique name.
func (m *message) attach(name, kind string, data []byte) {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '/' || r == '\\' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(name), "_"))
	if name == "" || name == "." || name == ".." {
		name = "attachment" + cmp.Or(extensions[kind], ".bin")
	}
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:150], "") + path.Ext(name[150:])
	}
	unique := name
	isTaken := func(a attachment) bool { return a.name == unique }
	for n := 2; slices.ContainsFunc(m.attachments, isTaken); n++ {
		unique = strings.TrimSuffix(name, path.Ext(name)) + "-" + strconv.Itoa(n) + path.Ext(name)
	}
	m.attachments = append(m.attachments, attachment{unique, kind, data})
}

// extensions are the extensions of files without a name, by their types.
var extensions = map[string]string{
	"message/rfc822": ".eml", "text/plain": ".txt", "text/html": ".html", "text/calendar": ".ics", "image/png": ".png",
	"image/gif": ".gif", "image/jpeg": ".jpeg", "image/webp": ".webp", "application/pdf": ".pdf",
}

// parser reads one mail.
type parser struct {
	ctx   context.Context
	m     *message
	parts int
}

// parse reads the bytes of a mail.
func parse(ctx context.Context, raw []byte) (*message, error) {
	raw = bytes.TrimLeft(raw, "\r\n")
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(raw))).ReadMIMEHeader()
	if len(header) == 0 {
		return nil, document.Errorf(document.ErrBroken, "the mail is damaged: it has no header")
	}
	if err != nil && err != io.EOF { // the readable part of a damaged header is enough
		header = readable(raw)
	}
	p := &parser{ctx: ctx, m: &message{header: header, subject: Decode(header.Get("Subject"))}}
	for _, name := range []string{"From", "To", "Cc", "Bcc", "Reply-To", "Date"} {
		if value := header.Get(name); value != "" {
			p.m.fields = append(p.m.fields, field{name, Decode(value)})
		}
	}
	text, err := p.part(header, bytes.NewReader(bodyOf(raw)), 0)
	if err != nil {
		return nil, err
	}
	p.m.text = text
	return p.m, nil
}

// readable returns the valid fields of a damaged header.
func readable(raw []byte) textproto.MIMEHeader {
	header := textproto.MIMEHeader{}
	head := raw[:len(raw)-len(bodyOf(raw))]
	last := ""
	for line := range strings.SplitSeq(string(head), "\n") {
		line = strings.TrimRight(line, "\r")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") &&
			!strings.HasPrefix(line, "\t") {
			last = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
			header.Add(last, strings.TrimSpace(value))
		} else if values := header[last]; len(values) > 0 {
			values[len(values)-1] += " " + strings.TrimSpace(line)
		}
	}
	return header
}

// bodyOf returns the text after the first empty line.
func bodyOf(raw []byte) []byte {
	best := len(raw)
	for _, end := range []string{"\r\n\r\n", "\n\n"} {
		if i := bytes.Index(raw, []byte(end)); i >= 0 {
			best = min(best, i+len(end))
		}
	}
	return raw[best:]
}

func decodeHeader(value string) string {
	decoder := mime.WordDecoder{CharsetReader: charsetReader}
	if text, err := decoder.DecodeHeader(value); err == nil {
		value = text
	}
	return page.Decode([]byte(value), "") // some mails have other charsets than ASCII in their headers
}

// charsetReader decodes a charset of the web, or one such as IBM850 that only mails have.
func charsetReader(label string, from io.Reader) (io.Reader, error) {
	if known, _ := charset.Lookup(label); known == nil {
		if old, _ := ianaindex.MIME.Encoding(label); old != nil {
			return old.NewDecoder().Reader(from), nil
		}
	}
	return charset.NewReaderLabel(label, from)
}

// part reads a part: it returns the text to show, and adds attachments.
func (p *parser) part(header textproto.MIMEHeader, body io.Reader, depth int) (string, error) {
	if p.parts++; p.parts > maxParts || depth > maxDepth {
		return "", document.Errorf(document.ErrTooBig, "the mail has over %d parts, or parts nested more than %d deep",
			maxParts, maxDepth)
	}
	if err := p.ctx.Err(); err != nil {
		return "", err
	}
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	disposition, fileParams, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	name := decodeHeader(cmp.Or(fileParams["filename"], params["name"]))
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		return p.multipart(kind, params["boundary"], body, depth)
	}
	data, _ := io.ReadAll(decodeTransfer(header.Get("Content-Transfer-Encoding"), body)) // the valid part is used
	isText := kind == "text/plain" || kind == "text/html" || kind == "text/enriched"
	if !isText || disposition == "attachment" || name != "" && depth > 0 && disposition != "inline" {
		if kind == "message/rfc822" && name == "" {
			name = embeddedName(data)
		}
		p.m.attach(name, kind, data)
		return "", nil
	}
	contentType := header.Get("Content-Type")
	if known, _ := charset.Lookup(params["charset"]); known == nil {
		if r, err := charsetReader(params["charset"], bytes.NewReader(data)); err == nil {
			data, _ = io.ReadAll(r) // decoders of such charsets have no errors
			contentType = kind + "; charset=utf-8"
		}
	}
	return p.text(kind, contentType, data)
}

// embeddedName returns the name of a mail within a mail: its subject.
func embeddedName(data []byte) string {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	if subject := md.OneLine(decodeHeader(m.Header.Get("Subject"))); subject != "" {
		return strings.ToValidUTF8(subject[:min(len(subject), 80)], "") + ".eml"
	}
	return ""
}

func decodeTransfer(name string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &onlyBase64{body})
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	}
	return body
}

// onlyBase64 drops bytes outside of base64, as mail programs do.
type onlyBase64 struct{ io.Reader }

func (r *onlyBase64) Read(to []byte) (int, error) {
	for {
		n, err := r.Reader.Read(to)
		kept := 0
		for _, c := range to[:n] {
			if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' ||
				c == '=' {
				to[kept] = c
				kept++
			}
		}
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

func (p *parser) text(kind, contentType string, data []byte) (string, error) {
	if kind == "text/html" {
		converted, err := page.Read(p.ctx, data, page.Options{Whole: true, ContentType: contentType})
		return converted.Text, err
	}
	return tidy(page.Decode(data, contentType)), nil
}

// tidy removes blanks at the ends of lines, and empty lines that follow an empty line.
func tidy(text string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
		line = strings.TrimRight(line, " \t\u00a0")
		if line != "" || len(kept) > 0 && kept[len(kept)-1] != "" {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// multipart reads the parts of a part. Of alternatives it shows the plain text, unless that
// is only a remark that the mail is HTML.
func (p *parser) multipart(kind, boundary string, body io.Reader, depth int) (string, error) {
	r := multipart.NewReader(body, boundary)
	var texts []string
	var plain, rich string
	for {
		part, err := r.NextRawPart()
		if err != nil {
			if err != io.EOF && len(texts) == 0 && plain+rich == "" {
				p.m.notes = append(p.m.notes, "The mail is damaged; parts of it are missing.")
			}
			break
		}
		text, err := p.part(part.Header, part, depth+1)
		if err != nil {
			return "", err
		}
		if text == "" {
			continue
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/plain") && plain == "" {
			plain = text
		} else if rich == "" {
			rich = text
		}
		texts = append(texts, text)
	}
	if kind == "multipart/alternative" {
		if len(plain)*4 < len(rich) || plain == "" {
			return rich, nil
		}
		return plain, nil
	}
	return strings.Join(texts, "\n\n---\n\n"), nil
}

// Looks reports whether a text is a mail.
func Looks(t document.Head) bool { return isMail(t.Text) }

// isMail reports whether a text begins with the header of a mail.
func isMail(text string) bool {
	known, lines := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		lines++
		if lines == 1 && strings.HasPrefix(line, "From ") || line != "" && (line[0] == ' ' || line[0] == '\t') &&
			lines > 1 {
			continue
		}
		name, _, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t<{[(\"'") {
			return line == "" && known >= 2
		}
		if slices.Contains([]string{
			"from", "to", "subject", "date", "message-id", "received", "return-path", "mime-version", "content-type",
			"delivered-to", "reply-to", "cc", "dkim-signature", "x-mailer",
		}, strings.ToLower(name)) {
			known++
		}
	}
	return known >= 3 // the header is longer than the part that was read
}
