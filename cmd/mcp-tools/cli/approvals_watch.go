package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
)

// watchEvery is how often watch looks at the questions, when nobody tells it that
// there is a new one.
const watchEvery = time.Second

func (a *CLI) approvalsWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show calls as they begin to wait, and ask you about each",
		Long: `watch shows each call that waits for approval as it comes, until interrupted. On
a terminal it asks: y lets the call run, s lets calls exactly like it run for the
rest of the session too, n refuses, with a reason if one follows (n use the test
database), and an empty line leaves it to others.

While it runs, calls of clients that cannot ask a person wait for you; without
it they are refused at once, unless the setting approvals.wait says otherwise.
With --output json each call is an object on a line of its own, and nothing is
asked.`,
		Example: "  mcp-tools approvals watch\n  mcp-tools approvals watch --output json",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			asJSON, err := a.asJSON()
			if err != nil {
				return err
			}
			return a.withApprovals(func(store *approvals.Store, who approvals.Approver) error {
				w := &watch{app: a, store: store, who: who, seen: make(map[string]bool), asJSON: asJSON}
				if !asJSON && terminal.IsTerminal(a.In) {
					w.lines = typedLines(cmd.Context(), a.In)
				}
				return ended(cmd.Context(), w.run(cmd.Context()))
			})
		},
	}
}

// A watch is one run of the command.
type watch struct {
	app    *CLI
	store  *approvals.Store
	who    approvals.Approver
	asJSON bool
	seen   map[string]bool
	lines  <-chan string // what is typed; nil where nobody can
	asking string        // the question that the next line answers
	since  time.Time     // when it was shown
	taken  time.Time     // when the last one went while it was asked
}

const (
	// readingTime is how long nobody can have read a question. What comes sooner
	// was typed for another one.
	readingTime = 300 * time.Millisecond
	// noticeTime is how long it takes to notice that a question has gone and
	// another stands in its place: an agent can do that on purpose.
	noticeTime = 2 * time.Second
)

func (w *watch) run(ctx context.Context) error {
	if !w.asJSON {
		place, err := w.app.StorePlace()
		if err != nil {
			return err
		}
		fmt.Fprintf(w.app.Err, "Waiting for calls that need approval, of servers with the store %s; Ctrl-C ends this.\n", place)
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		changed := w.store.Changed()
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, open := <-w.lines:
			if !open {
				return nil
			}
			w.take(ctx, line)
		case <-changed:
		case <-tick.C:
		}
	}
}

// Examine shows what is new. One question at a time is put; it is over when
// somebody else has answered it.
func (w *watch) look(ctx context.Context) error {
	if err := w.store.MarkAttended(ctx); err != nil {
		return err
	}
	open, err := w.store.List(ctx, w.who)
	if err != nil {
		return err
	}
	still := make(map[string]bool, len(open))
	for _, q := range open {
		still[q.ID] = true
	}
	if w.asking != "" && !still[w.asking] {
		fmt.Fprintf(w.app.Err, "\n%s was answered elsewhere, or is over.\n", w.asking)
		w.asking, w.taken = "", time.Now()
	}
	for id := range w.seen {
		if !still[id] {
			delete(w.seen, id)
		}
	}
	for _, q := range open {
		if w.seen[q.ID] || w.asking != "" {
			continue
		}
		w.seen[q.ID] = true
		if err := w.show(q); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) show(q approvals.Question) error {
	if w.asJSON {
		e := json.NewEncoder(w.app.Out)
		e.SetEscapeHTML(false)
		return e.Encode(q)
	}
	if _, err := fmt.Fprintf(w.app.Out, "\n%s", questionSheet(q)); err != nil {
		return err
	}
	if w.lines == nil {
		_, err := fmt.Fprintf(w.app.Out, "mcp-tools approvals allow %s, or deny %s\n", q.ID, q.ID)
		return err
	}
	w.asking, w.since = q.ID, time.Now()
	session := ", s for this session"
	if q.Once {
		session = ""
	}
	_, err := fmt.Fprintf(w.app.Err, "Let %s run for %s? [y once%s, n no, Enter to leave it] ", terminal.OneLine(q.Tool), terminal.OneLine(q.Principal), session)
	return err
}

// take reads a line as the answer to the question that was put last.
func (w *watch) take(ctx context.Context, line string) {
	id := w.asking
	if id == "" {
		return
	}
	if time.Since(w.since) < readingTime || time.Since(w.taken) < noticeTime {
		fmt.Fprintf(w.app.Err, "That was typed before %s could be read; what is your answer? ", id)
		return
	}
	w.asking = ""
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	answer := approvals.Answer{Scope: approvals.Once}
	switch strings.ToLower(word) {
	case "y", "yes":
		answer.Allow = true
	case "s", "session":
		answer.Allow, answer.Scope = true, approvals.Session
	case "n", "no":
		answer.Reason = strings.TrimSpace(reason)
	default:
		fmt.Fprintf(w.app.Err, "Left as it is; mcp-tools approvals allow %s can still answer.\n", id)
		return
	}
	if err := w.app.decide(ctx, w.store, id, answer, w.who); err != nil {
		fmt.Fprintln(w.app.Err, err)
	}
}

// typedLines reads what is typed. A terminal cannot be told to stop reading, so
// the reader is left behind when ctx ends; the program ends then too.
func typedLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(in)
		for {
			line, err := reader.ReadString('\n')
			if err != nil && !(errors.Is(err, io.EOF) && line != "") {
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
