package mail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// ReadBox reads a mailbox of the format mbox. Its parts are the mails, and its members are
// named by the number of the mail: 3/report.pdf.
func ReadBox(ctx context.Context, src document.Source) (*document.Document, error) {
	doc := &document.Document{Unit: "mail"}
	left := src.Limits.Text
	total, err := eachMail(ctx, src, func(number int) bool {
		return src.Pages.Has(number) && len(doc.Parts) < src.Limits.Parts && left > 0
	}, func(number int, raw []byte) error {
		m, err := parse(ctx, raw)
		if failed := new(document.Error); errors.As(err, &failed) {
			doc.Parts = append(doc.Parts, document.Part{Number: number, Markdown: "*" + failed.Text + "*"})
			return nil
		}
		if err != nil {
			return err
		}
		text := m.markdown(left)
		left -= len(text)
		doc.Parts = append(doc.Parts, document.Part{Number: number, Name: m.subject, Markdown: text})
		for _, a := range m.attachments {
			doc.Members = append(doc.Members, document.Member{
				Name: strconv.Itoa(number) + "/" + a.name, Size: int64(len(a.data)), Type: a.kind,
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	doc.Total = total
	if left <= 0 {
		doc.Notes = append(doc.Notes, "The mailbox exceeds the maximum length; ask for some of its mails.")
	}
	return doc, nil
}

// OpenBox returns an attachment of a mail in a mailbox, or with a number alone the mail.
func OpenBox(ctx context.Context, src document.Source, name string) (document.Source, error) {
	mail, file, hasFile := strings.Cut(name, "/")
	wanted, err := strconv.Atoi(mail)
	if err != nil || wanted < 1 {
		return src, document.Errorf(document.ErrNoMember,
			"the mailbox has no member %.100q; write the number of a mail, and of its attachment, as in 3/1", name)
	}
	var found []byte
	total, err := eachMail(ctx, src, func(number int) bool { return number == wanted }, func(_ int, raw []byte) error {
		found = bytes.Clone(raw)
		return nil
	})
	switch {
	case err != nil:
		return src, err
	case found == nil:
		return src, document.Errorf(document.ErrNoMember, "the mailbox has no mail %d; it has %d", wanted, total)
	case !hasFile:
		src.Name, src.Data, src.Size = mail+".eml", bytes.NewReader(found), int64(len(found))
		return src, nil
	}
	m, err := parse(ctx, found)
	if err != nil {
		return src, err
	}
	return m.open(src, file)
}

// eachMail passes the wanted mails of a mailbox to each, and returns how many there are.
func eachMail(
	ctx context.Context, src document.Source, isWanted func(number int) bool, each func(number int, raw []byte) error,
) (int, error) {
	r := bufio.NewReaderSize(src.Reader(), 64<<10)
	number, wanted, afterEmpty := 0, false, true
	var raw bytes.Buffer
	end := func() error {
		if !wanted {
			return nil
		}
		defer raw.Reset()
		return each(number, raw.Bytes())
	}
	for lines := 0; ; lines++ {
		if lines%1024 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		line, err := r.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return 0, err
		}
		switch {
		case afterEmpty && bytes.HasPrefix(line, []byte("From ")):
			if err := end(); err != nil {
				return 0, err
			}
			number++
			wanted = isWanted(number)
		case wanted && int64(raw.Len()) < src.Limits.Part:
			if quoted := bytes.TrimLeft(line, ">"); len(quoted) < len(line) &&
				bytes.HasPrefix(quoted, []byte("From ")) {
				line = line[1:]
			}
			raw.Write(line)
		}
		afterEmpty = len(bytes.TrimRight(line, "\r\n")) == 0 && err == nil
		if err == io.EOF {
			break
		}
	}
	if err := end(); err != nil {
		return 0, err
	}
	if number == 0 {
		return 0, document.Errorf(document.ErrBroken, "the mailbox is damaged: it does not begin with a mail")
	}
	return number, nil
}

// LooksLikeBox reports whether a text is a mailbox.
func LooksLikeBox(t document.Head) bool { return strings.HasPrefix(t.Raw, "From ") && isMail(t.Text) }
