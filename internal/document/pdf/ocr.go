package pdf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// An ocr counts the pages that tesseract has read.
type ocr struct {
	done, skipped int
	missing       bool
}

// ocrRoom is the time that must be left for one more page, so that the pages before are
// returned in time.
const ocrRoom = 10 * time.Second

// recognize replaces the text of a part by the text that tesseract reads on the page.
func (r *reading) recognize(ctx context.Context, o *ocr, part *document.Part) error {
	if o.missing {
		return nil
	}
	end, limited := ctx.Deadline()
	if o.done == maxOCRPages || o.done > 0 && limited && time.Until(end) < ocrRoom {
		o.skipped++
		return nil
	}
	program, err := exec.LookPath("tesseract")
	if err != nil {
		o.missing = true
		r.note("Page %d is a scan. To read its text, install tesseract (Debian: tesseract-ocr).", part.Number)
		return nil
	}
	o.done++
	picture, err := r.draw(ctx, part.Number, ocrDPI, true)
	if err != nil {
		return err
	}
	args := []string{"-", "-", "--dpi", "200"}
	if r.src.Language != "" {
		args = append(args, "-l", r.src.Language)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1") // more threads are slower
	cmd.Stdin = bytes.NewReader(picture)
	var out, message bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &message
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			return err
		}
		r.note("tesseract could not read page %d: %s", part.Number, firstLine(message.String()))
		return nil
	}
	if text := paragraphs(out.String()); text != "" {
		part.Markdown, part.OCR = text, true
	}
	return nil
}

// paragraphs joins the lines of tesseract's paragraphs. A paragraph that ends within a sentence
// is joined with the next one.
func paragraphs(text string) string {
	var out []string
	for block := range strings.SplitSeq(text, "\n\n") {
		var b strings.Builder
		block = strings.TrimSpace(block)
		first, _ := utf8.DecodeRuneInString(block)
		if n := len(out) - 1; n >= 0 && unicode.IsLower(first) && !endsSentence(out[n]) {
			b.WriteString(out[n])
			out = out[:n]
		}
		for line := range strings.Lines(block) {
			appendLine(&b, clean(strings.TrimSpace(line)), nil)
		}
		out = append(out, b.String())
	}
	return joinBlocks(out...)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
