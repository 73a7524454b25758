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

// watchEvery is the interval at which watch polls the store, in addition to
// notifications.
const watchEvery = time.Second

func (a *CLI) approvalsWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show calls that need an approval, and ask about each",
		Long: `watch shows each call that needs an approval, until interrupted. On a terminal it
asks: y approves the call, s also approves equal calls for the rest of the
session, n denies it, with a reason if one follows (n use the test database), and
an empty line leaves it open.

While it runs, calls of clients that cannot ask a person wait for a decision;
otherwise they are refused at once, unless the setting approvals.wait differs.
With --output json each call is an object on one line, and nothing is asked.`,
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
	lines  <-chan string // typed lines; nil without a terminal
	asking string        // ID of the question that the next line answers
	since  time.Time     // when it was shown
	taken  time.Time     // when a question was last withdrawn while it was shown
}

const (
	// readingTime is the min time to read a question. A line that comes sooner was
	// typed for another question.
	readingTime = 300 * time.Millisecond
	// noticeTime is the time that a person needs to notice that another
	// question has replaced the one shown, which an agent can do on purpose.
	noticeTime = 2 * time.Second
)

func (w *watch) run(ctx context.Context) error {
	if !w.asJSON {
		place, err := w.app.StorePlace()
		if err != nil {
			return err
		}
		fmt.Fprintf(w.app.Err,
			"Waiting for calls that need an approval on servers with the store %s; Ctrl-C ends this.\n", place)
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

// look shows new questions, one at a time. A question ends when it is answered
// elsewhere.
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
		fmt.Fprintf(w.app.Err, "\n%s was answered elsewhere, or has expired.\n", w.asking)
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
	_, err := fmt.Fprintf(w.app.Err, "Let %s run for %s? [y once%s, n no, Enter to leave it open] ",
		terminal.OneLine(q.Tool), terminal.OneLine(q.Principal), session)
	return err
}

// take handles a line as the answer to the question shown last.
func (w *watch) take(ctx context.Context, line string) {
	id := w.asking
	if id == "" {
		return
	}
	if time.Since(w.since) < readingTime || time.Since(w.taken) < noticeTime {
		fmt.Fprintf(w.app.Err, "This was typed before %s could be read; please answer again: ", id)
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
		fmt.Fprintf(w.app.Err, "Left open; mcp-tools approvals allow %s can still answer.\n", id)
		return
	}
	if err := w.app.decide(ctx, w.store, id, answer, w.who); err != nil {
		fmt.Fprintln(w.app.Err, err)
	}
}

// typedLines reads lines from a terminal. Reading cannot be interrupted, so the
// goroutine stays when ctx ends; the program ends then too.
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
