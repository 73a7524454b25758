package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	document "github.com/mcp-tools/mcp-tools/internal/document/mail"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const (
	maxIncoming = 64 << 10 // bytes of text
	maxFiles    = 100
)

// incoming returns the message of a mail. place names it for Fetch. whole is false if raw is only the beginning of the
// mail. It reports false for a mail that this account has sent.
func (c *Channel) incoming(
	ctx context.Context, raw []byte, whole bool, at time.Time, place string,
) (chat.Incoming, bool) {
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	sum := sha256.Sum256(head)
	in := chat.Incoming{ID: hex.EncodeToString(sum[:16]), At: at}
	l, err := document.Parse(ctx, raw)
	if err != nil {
		in.Text = "(A mail arrived that cannot be read.)"
		return in, true
	}
	address, name := sender(l.Header)
	id := firstID(l.Header.Get("Message-Id"))
	if strings.HasPrefix(id, ownIDs) && address == strings.ToLower(c.from.Address) {
		return in, false
	}
	_, domain, _ := strings.Cut(address, "@")
	in.From.Name = chat.CleanName(cmp.Or(name, address, "(unknown sender)"), maxName)
	if isVerified(l.Header, c.a.Values["verifier"], domain) {
		in.From.ID = address
	}
	in.From.Bot = isAutomatic(l.Header)
	in.Title = chat.CleanName(l.Subject, maxSubject)
	in.ReplyTo = firstID(l.Header.Get("In-Reply-To"))
	in.Message = chat.Ref{Chat: address, ID: id,
		Thread: cmp.Or(firstID(l.Header.Get("References")), in.ReplyTo, id)}
	in.Text = chat.CleanText(withoutHistory(l.Text), maxIncoming)
	if !whole {
		in.Text += "\n\n(The mail is too large; its end was not read, and files may be missing.)"
	}
	for i, f := range l.Files[:min(len(l.Files), maxFiles)] {
		a := chat.Attachment{Name: chat.CleanName(f.Name, maxName), MIME: chat.CleanName(f.Type, maxName), Size: f.Size,
			ID: place + ":" + strconv.Itoa(i+1)}
		if !whole && i == len(l.Files)-1 {
			a.Size = 0 // it may be longer than the part that was read
		}
		in.Files = append(in.Files, a)
	}
	return in, true
}

// sender returns the address, in lower case, and the name of the sender. A mail with several
// senders has no address: a server may have verified a different sender.
func sender(header textproto.MIMEHeader) (address, name string) {
	fields := header["From"]
	if len(fields) != 1 {
		return "", ""
	}
	all, err := mail.ParseAddressList(fields[0])
	if err != nil { // it has a charset that package mail does not know
		all, err = mail.ParseAddressList(strings.ToValidUTF8(document.Decode(fields[0]), ""))
	}
	if err != nil || len(all) != 1 {
		return "", ""
	}
	a, err := parseAddress(all[0].Address)
	if err != nil {
		return "", ""
	}
	return strings.ToLower(a.Address), document.Decode(all[0].Name)
}

// isAutomatic reports whether a program has written a mail.
func isAutomatic(header textproto.MIMEHeader) bool {
	auto := strings.ToLower(header.Get("Auto-Submitted"))
	bulk := []string{"bulk", "list", "junk", "auto_reply"}
	return auto != "" && auto != "no" || slices.Contains(bulk, strings.ToLower(header.Get("Precedence"))) ||
		header.Get("List-Id") != "" || strings.TrimSpace(header.Get("Return-Path")) == "<>" ||
		header.Get("X-Auto-Response-Suppress") != "" && header.Get("In-Reply-To") == ""
}

// firstID returns the first Message-ID of a field, without its brackets.
func firstID(field string) string {
	_, rest, found := strings.Cut(field, "<")
	id, _, closed := strings.Cut(rest, ">")
	if !found || !closed || !isID(id) {
		return ""
	}
	return id
}

// withoutHistory returns the text of an answer without the mails that it quotes at its
// end. If nothing is left, it returns all of it.
func withoutHistory(text string) string {
	lines := strings.Split(text, "\n")
	end := len(lines)
	for i, line := range lines {
		if isSeparator(line) || line == "--" || isForwardHeader(lines[i:]) {
			end = i
			break
		}
	}
	quote := end
	for quote > 0 && (strings.TrimSpace(lines[quote-1]) == "" || isQuote(lines[quote-1])) {
		quote--
	}
	if slices.ContainsFunc(lines[quote:end], isQuote) {
		end = beforeAttribution(lines[:quote])
	}
	if kept := strings.TrimSpace(strings.Join(lines[:end], "\n")); kept != "" {
		return kept
	}
	return strings.TrimSpace(text)
}

func isQuote(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), ">") }

// isSeparator reports whether a line is like -----Original Message-----, in any language.
func isSeparator(line string) bool {
	line = strings.Trim(line, " *\\")
	inner := strings.Trim(line, "-\\ ")
	return strings.HasPrefix(line, "----") && strings.HasSuffix(line, "----") && inner != "" && len(inner) < 60 ||
		strings.HasPrefix(line, "________________________________")
}

// isForwardHeader reports whether lines begin with the header of another mail, as Outlook
// quotes it.
func isForwardHeader(lines []string) bool {
	for i, names := range [][]string{
		{"from", "von", "de", "da", "van", "från", "fra", "od"},
		{"sent", "date", "gesendet", "datum", "envoyé", "enviado", "fecha", "inviato", "data", "verzonden", "skickat",
			"sendt",
			"to", "an", "à", "para", "a", "aan"},
	} {
		if len(lines) <= i {
			return false
		}
		name, _, found := strings.Cut(strings.Trim(lines[i], " *\\"), ":")
		if !found || !slices.Contains(names, strings.ToLower(strings.Trim(name, " *"))) {
			return false
		}
	}
	return true
}

// beforeAttribution returns how many lines are left without a paragraph like "On Friday
// Ann wrote:" at their end.
func beforeAttribution(lines []string) int {
	if n := len(lines); n == 0 || !strings.HasSuffix(strings.TrimRight(lines[n-1], " *"), ":") {
		return n
	}
	for i := len(lines) - 1; i >= max(0, len(lines)-3); i-- {
		if i == 0 || strings.TrimSpace(lines[i-1]) == "" {
			return i
		}
	}
	return len(lines) - 1
}
