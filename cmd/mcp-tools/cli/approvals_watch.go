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

	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
)

// watchEvery is the interval of the polls of the store, in addition to notifications.
const watchEvery = time.Second

func (a *CLI) approvalsWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show calls that need an approval, and ask about each",
		Long: `watch shows each call that needs an approval, until interrupted. On a terminal it
asks: y approves the call, s also approves equal calls for the rest of the session, a
for 30 days, n denies it, with a reason for the agent if one follows (n use the test
database), d shows details, and an empty line leaves it open.

While it runs, calls of clients that cannot ask a person wait for a decision;
otherwise they are refused at once, unless the setting approvals.wait differs.
With --output json each call is an object on one line, and nothing is asked.`,
		Example: "  mcp-tools approvals watch\n  mcp-tools approvals watch --output json",
		Args:    takes(),
		RunE: on(a.withApprovals, func(ctx context.Context, store *approvals.Store, _ []string) error {
			asJSON, err := a.asJSON()
			if err != nil {
				return err
			}
			w := &watch{app: a, store: store, seen: make(map[string]string), asJSON: asJSON}
			if !asJSON && terminal.IsTerminal(a.In) {
				w.lines = typedLines(ctx, a.In)
			}
			return ended(ctx, w.run(ctx))
		}),
	}
}

// A watch is one run of the command.
type watch struct {
	app    *CLI
	store  *approvals.Store
	asJSON bool
	seen   map[string]string  // digests of the calls that were shown
	lines  <-chan string      // typed lines; nil without a terminal
	asking approvals.Question // that the next line answers; without an ID there is none
	since  time.Time          // when it was shown
	taken  time.Time          // when a question was last withdrawn while it was shown
}

const (
	// readingTime is the min time to read a question. A line that comes sooner was
	// typed for another question.
	readingTime = 300 * time.Millisecond
	// noticeTime is the time that a person needs to notice that another question has replaced
	// the shown one. An agent can cause this on purpose.
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
	open, err := w.store.List(ctx, approver())
	if err != nil {
		return err
	}
	still := make(map[string]bool, len(open))
	for _, q := range open {
		still[q.ID] = true
	}
	if w.asking.ID != "" && !still[w.asking.ID] {
		fmt.Fprintf(w.app.Err, "\n%s was answered elsewhere, or has expired.\n", w.asking.ID)
		w.asking, w.taken = approvals.Question{}, time.Now()
	}
	for id := range w.seen {
		if !still[id] {
			delete(w.seen, id)
		}
	}
	for _, q := range open {
		if w.seen[q.ID] == q.Digest || w.asking.ID != "" {
			continue
		}
		w.seen[q.ID] = q.Digest
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
	if _, err := fmt.Fprintf(w.app.Out, "\n%s", q.Sheet()); err != nil {
		return err
	}
	if w.lines == nil {
		_, err := fmt.Fprintf(w.app.Out, "mcp-tools approvals allow %s, or deny %s\n", q.ID, q.ID)
		return err
	}
	w.asking, w.since = q, time.Now()
	w.prompt()
	return nil
}

// prompt asks about the question that is shown.
func (w *watch) prompt() {
	like := "s session, a always, "
	if w.asking.Once {
		like = ""
	}
	fmt.Fprintf(w.app.Err, "Approve it? [y once, %sn no, d details, ? help, Enter to leave it open] ", like)
}

const watchHelp = `  y         approve this call
  s         approve it, and equal calls for the rest of the session
  a         approve it, and equal calls for 30 days; mcp-tools approvals rules lists such rules
  n REASON  deny it; the agent gets the reason, which may be missing
  d         show its session, profile and digests
  Enter     leave it open: mcp-tools approvals allow and deny still decide
`

// take handles a line as the answer to the question shown last.
func (w *watch) take(ctx context.Context, line string) {
	q := w.asking
	if q.ID == "" {
		return
	}
	if time.Since(w.since) < readingTime || time.Since(w.taken) < noticeTime {
		fmt.Fprintf(w.app.Err, "This was typed before %s could be read; please answer again: ", q.ID)
		return
	}
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	answer := approvals.Answer{Allow: true, Scope: approvals.Once, Seen: q.Digest}
	switch strings.ToLower(word) {
	case "":
		fmt.Fprintf(w.app.Err, "Left open; mcp-tools approvals allow %s can still answer.\n", q.ID)
		w.asking = approvals.Question{}
		return
	case "y", "yes":
	case "s", "session":
		answer.Scope = approvals.Session
	case "a", "always":
		answer.Scope = approvals.Always
	case "n", "no":
		answer = approvals.Answer{Reason: strings.TrimSpace(reason), Scope: approvals.Once}
	case "d", "details":
		fmt.Fprint(w.app.Out, q.Details())
		w.prompt()
		return
	default:
		fmt.Fprint(w.app.Err, watchHelp)
		w.prompt()
		return
	}
	if answer.Scope != approvals.Once && q.Once {
		fmt.Fprintln(w.app.Err, "Only this call can be approved, not calls like it.")
		w.prompt()
		return
	}
	w.asking = approvals.Question{}
	if err := w.app.decide(ctx, w.store, q.ID, answer); err != nil {
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
