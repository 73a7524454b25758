package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tokencount"
	"github.com/mcp-tools/mcp-tools/tools/exec/terminal"
)

const (
	// outputMost and outputTokens are the max output in one answer, in bytes and in
	// estimated tokens. Of longer output the answer has the head and a longer tail,
	// where errors are, and a handle for the rest.
	outputMost   = 6_000
	outputTokens = 2_000
	chunk        = 32 << 10
	// sniffed is how much of a stream is checked for binary data.
	sniffed = 8 << 10
)

// A section is a part of a log.
type section struct {
	log      sandbox.Log
	from, to int64
}

// whole returns the whole stream so far.
func whole(p sandbox.Process, s sandbox.Stream) section {
	log := p.Log(s)
	return section{log, 0, log.Size()}
}

// raw copies the section as it is, with a note where a part was dropped.
func (s section) raw(ctx context.Context, to io.Writer) error {
	buf := make([]byte, chunk)
	for at := s.from; at < s.to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := s.log.ReadAt(buf[:min(chunk, s.to-at)], at)
		if n > 0 {
			at += int64(n)
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.ErrNoProgress):
			_, end := s.log.Gap()
			end = min(max(end, at+1), s.to)
			if _, err := io.WriteString(to, droppedNote(end-at)); err != nil {
				return err
			}
			at = end
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("reading a log: %w", err)
		case n == 0:
			return nil
		}
	}
	return nil
}

// droppedNote stands for n bytes that were not kept.
func droppedNote(n int64) string {
	return fmt.Sprintf("\n[%d bytes were dropped here: the output exceeds its maximum]\n", n)
}

// dropped returns how many bytes of the section were not kept.
func (s section) dropped() int64 {
	from, to := s.log.Gap()
	return max(0, min(to, s.to)-max(from, s.from))
}

// clean copies the section as a terminal would show it.
func (s section) clean(ctx context.Context, to io.Writer) error {
	c := terminal.NewCleaner(to)
	return errors.Join(s.raw(ctx, c), c.Close())
}

// scrubbed copies it cleaned and without secrets.
func (r *runner) scrubbed(ctx context.Context, s section, to io.Writer) error {
	if r.Scrub == nil {
		return s.clean(ctx, to)
	}
	w := r.Scrub(ctx, to)
	return errors.Join(s.clean(ctx, w), w.Close())
}

// binary reports whether the section is not text. NULs between words are text,
// since lists have them.
func (s section) binary() bool {
	buf := make([]byte, min(sniffed, s.to-s.from))
	n, _ := s.log.ReadAt(buf, s.from) // unreadable data is not text
	buf = buf[:n]
	odd, zero := 0, 0
	for rest := buf; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == 0:
			zero++
		case r == utf8.RuneError && size == 1 && (len(rest) >= utf8.UTFMax || s.to-s.from <= sniffed),
			r < ' ' && !strings.ContainsRune("\a\b\t\n\f\r\x0e\x0f\x1b", r), r == 0x7F:
			odd++
		}
		rest = rest[size:]
	}
	return odd*10 > n || zero*10 > n*3
}

// A capture keeps the head and the tail of the written text.
type capture struct {
	size int64
	lost int64 // omitted bytes; a note says so
	head []byte
	tail []byte // a ring, once it is full
}

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.size += int64(n)
	if room := outputMost - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, n)]...)
	}
	if len(p) > outputMost {
		p = p[len(p)-outputMost:]
	}
	if c.tail = append(c.tail, p...); len(c.tail) > 4*outputMost {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-outputMost:]...)
	}
	return n, nil
}

// ends returns the head and the tail, cut between lines, that fit in most bytes.
func (c *capture) ends(most int64) (head, tail string) {
	if c.size <= most {
		return string(c.head[:c.size]), ""
	}
	at := int(most) * 3 / 7
	head = string(c.head[:at])
	if i := strings.LastIndexByte(head, '\n'); i > at/2 {
		head = head[:i+1]
	}
	tail = string(c.tail[max(0, len(c.tail)-int(most)+at):])
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return trimRune(head), strings.TrimLeftFunc(tail, func(r rune) bool { return r == utf8.RuneError })
}

// trimRune takes half a character off the end.
func trimRune(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// printed is the output of a command: as the model gets it, and its parts.
type printed struct{ text, stdout, stderr string }

// output returns the output of a command for the model: stdout, then stderr. Output that is too
// long is kept, and the text has its handle.
func (r *runner) output(ctx context.Context, p sandbox.Process) (out printed, handle string, err error) {
	captures := []*capture{{}, {}}
	kept := keeping{ctx: ctx, keeper: r.Keeper}
	defer kept.end()
	for i, s := range []section{whole(p, sandbox.Stdout), whole(p, sandbox.Stderr)} {
		if s.to == 0 {
			continue
		}
		if i == 1 && captures[0].size > 0 {
			_, _ = kept.Write([]byte(mark)) // never fails
		}
		captures[i].lost = s.dropped()
		to := io.MultiWriter(captures[i], &kept)
		if s.binary() {
			fmt.Fprintf(to,
				"(%d bytes of binary data: redirect them to a file, or pipe them through xxd, base64 or file)\n",
				s.to)
		} else if err := r.scrubbed(ctx, s, to); err != nil {
			return out, "", err
		}
	}
	limit := limitOf(captures)
	if limit < captures[0].size+captures[1].size {
		kept.start()
	}
	shares := shared(captures[0].size, captures[1].size, limit)
	handle = kept.end()
	start := int64(0)
	var b strings.Builder
	for i, c := range captures {
		if i == 1 && captures[0].size > 0 && c.size > 0 {
			b.WriteString(mark)
			start = captures[0].size + int64(len(mark))
		}
		from := b.Len()
		show(&b, c, shares[i], handle, start)
		*[]*string{&out.stdout, &out.stderr}[i] = b.String()[from:]
	}
	out.text = strings.TrimRight(b.String(), "\n")
	return out, handle, nil
}

// mark introduces stderr.
const mark = "stderr:\n"

// limitOf returns the most bytes of output in an answer, so that it has not too many tokens:
// hashes have three times as many as prose. It counts the tokens of a part, since counting
// takes longer than all else.
func limitOf(captures []*capture) int64 {
	const part = 1000
	text := string(captures[0].head) + string(captures[1].head)
	if len(text) < outputMost/2 {
		return outputMost
	}
	at := (len(text) - part) / 2
	n := max(tokencount.Text(strings.ToValidUTF8(text[at:at+part], "")), 1)
	return min(outputMost, part*outputTokens/int64(n))
}

// shared divides the available size between the two streams.
func shared(out, err, most int64) [2]int64 {
	half := most / 2
	switch {
	case out+err <= most:
		return [2]int64{out, err}
	case err <= half:
		return [2]int64{most - err, err}
	case out <= half:
		return [2]int64{out, most - out}
	}
	return [2]int64{half, half}
}

// show writes the part of a stream that fits. start is its offset in the kept text.
func show(b *strings.Builder, c *capture, most int64, handle string, start int64) {
	head, tail := c.ends(most)
	b.WriteString(head)
	if tail != "" {
		if !strings.HasSuffix(head, "\n") {
			b.WriteByte('\n')
		}
		left, how := c.size-int64(len(head)+len(tail)), "ask for less to see it"
		if c.lost > 0 {
			left += c.lost - int64(len(droppedNote(c.lost)))
		}
		if handle != "" {
			const next = `call read_result with {"id":%q,"offset":%d} to continue, or with tail or grep`
			how = fmt.Sprintf(next, handle, start+int64(len(head)))
		}
		if c.lost > 0 {
			how = fmt.Sprintf("%d of them were not kept; %s", c.lost, how)
		}
		fmt.Fprintf(b, "[%d bytes left out here: %s]\n%s", left, how, tail)
	}
	if b.Len() > 0 && !bytes.HasSuffix([]byte(head+tail), []byte("\n")) && head+tail != "" {
		b.WriteByte('\n')
	}
}

// A keeping gives its text to a keeper, once the text exceeds one answer.
type keeping struct {
	ctx    context.Context
	keeper Keeper // nil: it is lost
	begin  []byte
	to     *io.PipeWriter // nil before there is too much
	done   chan struct{}
	handle string
}

// Write never fails: text that cannot be kept is lost.
func (k *keeping) Write(p []byte) (int, error) {
	switch {
	case k.keeper == nil:
		return len(p), nil
	case k.to == nil && len(k.begin)+len(p) <= outputMost:
		k.begin = append(k.begin, p...)
		return len(p), nil
	}
	k.start()
	_, _ = k.to.Write(p)
	return len(p), nil
}

// start begins to keep the text written so far.
func (k *keeping) start() {
	if k.keeper == nil || k.to != nil {
		return
	}
	k.done = make(chan struct{})
	var from *io.PipeReader
	from, k.to = io.Pipe()
	go func() {
		defer close(k.done)
		if handle, err := k.keeper.Keep(k.ctx, from); err == nil {
			k.handle = handle
		}
		_ = from.Close() // always nil; later writes fail
	}()
	_, _ = k.to.Write(k.begin)
}

// end returns the handle, "" when nothing was kept.
func (k *keeping) end() string {
	if k.to != nil {
		_ = k.to.Close() // always nil
		<-k.done
	}
	return k.handle
}
