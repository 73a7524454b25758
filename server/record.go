package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Journal is where every call is written down.
type Journal interface {
	// Append returns when the entry survives the death of this process.
	Append(ctx context.Context, e Entry) error
}

// An Entry is one line of the audit log. Its texts have been scrubbed.
type Entry struct {
	Intent     bool   // written before a call that may change something
	Kind       string // "" for a call; else "resource", "prompt" or "completion", and Alias is the method
	Call       string
	Parent     string
	Time       time.Time
	Tool       string
	Alias      string // the name under which it was called, when it was another
	Caller     tool.Caller
	Transport  string
	Risk       string
	Verdict    string
	Approval   string
	Outcome    string // "ok", "asked", or the kind of the failure
	ArgsDigest string
	Args       string // their beginning, when the operator wants it
	Digest     string // of the result
	Bytes      int
	Redactions int
	Duration   time.Duration
	Error      string
	Trace      string
}

// A Watcher sees every call from outside: metrics and traces.
type Watcher interface {
	Start(ctx context.Context, b Begin) (context.Context, func(End))
	Running(n int)
	Queued(n int)
	Sessions(n int)
	Limited(reason string)
}

// Begin is what is known of a call when it comes in.
type Begin struct {
	Tool      string // as registered, or "" for an unknown one
	Caller    tool.Caller
	Transport string
	Trace     map[string]string
}

// End is what has become of it.
type End struct {
	Verdict  string
	Outcome  string
	Duration time.Duration
	Waited   time.Duration // for a slot
	Bytes    int
	Redacted map[string]int // secrets by kind
	Kind     string         // of the failure
	Err      error
}

// blind watches nothing.
type blind struct{}

func (blind) Start(ctx context.Context, _ Begin) (context.Context, func(End)) {
	return ctx, func(End) {}
}
func (blind) Running(int)    {}
func (blind) Queued(int)     {}
func (blind) Sessions(int)   {}
func (blind) Limited(string) {}

type digest [sha256.Size]byte

// sum is the digest of texts with a zero byte after each, which neither names
// nor JSON have, so that none can pass for the beginning of another.
func sum(name string, rest ...[]byte) digest {
	buffer := make([]byte, 0, 256)
	buffer = append(append(buffer, name...), 0)
	for _, r := range rest {
		buffer = append(append(buffer, r...), 0)
	}
	return sha256.Sum256(buffer)
}

func (d digest) String() string {
	if d == (digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:16])
}

func (p *passage) begin() Begin {
	b := Begin{Caller: p.Caller, Transport: p.Transport, Trace: p.Trace}
	if t, ok := p.server.Config.Tools.Lookup(p.Tool); ok {
		b.Tool = t.Spec.Name
	}
	return b
}

// entry is what both entries of a call have in common.
func (p *passage) entry() Entry {
	e := Entry{
		Kind: p.kind, Call: p.id, Parent: p.Parent, Time: p.start, Caller: p.Caller, Transport: p.Transport,
		Tool: p.toolName(), Verdict: p.verdict.String(), Approval: p.approval,
		ArgsDigest: p.callSum.String(), Trace: clip(p.server.scrub.Text(p.Trace["traceparent"]), 64),
	}
	e.Caller.Profile = p.now.Policy.ProfileOf(p.subject())
	if p.known {
		e.Tool, e.Risk = p.tool.Spec.Name, p.tool.Spec.Risk.String()
		if p.risk.Valid() {
			e.Risk = p.risk.String()
		}
		if p.Tool != e.Tool {
			e.Alias = p.Tool
		}
	}
	if p.now.AuditArgs {
		e.Args = clip(string(p.server.scrub.JSON(p.Args)), maxAuditArgs)
	}
	return e
}

const maxAuditArgs = 500

// redactions is how many secrets were taken out of the result.
func (p *passage) redactions() int {
	n := 0
	for _, of := range p.redacted {
		n += of
	}
	return n
}

// recordIntent writes down what is about to happen, so that a call that
// changes something is on record even if we die in the middle of it.
func (p *passage) recordIntent(ctx context.Context) error {
	e := p.entry()
	e.Intent = true
	if err := p.server.Journal.Append(ctx, e); err != nil {
		p.server.log.Error("the audit log cannot be written", "err", err)
		return p.unrecorded(err)
	}
	return nil
}

// record writes down what came of the call. One that cannot be written down
// gives nothing away.
func (p *passage) record(ctx context.Context, a Answer, err error) Answer {
	outcome := "ok"
	switch {
	case a.Ask != nil:
		outcome, err = "asked", nil
	case a.Result.Failed:
		outcome = string(a.Result.Kind)
	}
	if failed := p.conclude(ctx, outcome, a.Result.Kind, a.Result.Size(), err); failed != nil {
		return Answer{Result: tool.Failure(failed)}
	}
	return a
}

// unrecorded is what a caller is told whose call could not be written down: what
// became of it, and what to do.
func (p *passage) unrecorded(cause error) *tool.Error {
	const lasting = "if it lasts, tell the operator: the server's log has the cause"
	switch {
	case !p.ran:
		return tool.Errorf(tool.Unavailable, "the audit log cannot be written at present, so nothing was done").
			Because(cause).Try("try again in some seconds; %s", lasting)
	case p.risk == tool.Reads:
		return tool.Errorf(tool.Unavailable, "the audit log cannot be written at present, so the result is withheld").
			Because(cause).Try("try again in some seconds; %s", lasting)
	}
	return tool.Errorf(tool.Unavailable, "the call was made, but the audit log cannot be written at present, so its result is withheld").
		Because(cause).Try("look at what it has changed before you repeat it; %s", lasting)
}

// conclude writes down how it ended, and tells the watcher. An error means that
// nobody may have what was found.
func (p *passage) conclude(ctx context.Context, outcome string, kind tool.Kind, size int, err error) (failed *tool.Error) {
	e := p.entry()
	e.Duration = time.Since(p.start)
	e.Outcome, e.Bytes, e.Redactions, e.Digest = outcome, size, p.redactions(), p.resultSum.String()
	if err != nil {
		e.Error = p.server.scrub.Text(err.Error())
		if known := tool.AsError(err); known.Kind == tool.Internal {
			e.Error = p.server.scrub.Text(known.Error() + ": " + causeText(known))
			p.server.log.Error("a tool failed", "tool", e.Tool, "call", p.id, "err", e.Error)
		}
	}
	if broken := p.server.Journal.Append(context.WithoutCancel(ctx), e); broken != nil {
		p.server.log.Error("the audit log cannot be written", "err", broken)
		failed = p.unrecorded(broken)
		err, kind, e.Outcome = failed, failed.Kind, string(failed.Kind)
	}
	p.seen(End{
		Verdict: verdictName(p.verdict, p.known), Outcome: e.Outcome, Duration: e.Duration, Waited: p.waited,
		Bytes: e.Bytes, Redacted: p.redacted, Kind: string(kind), Err: err,
	})
	return failed
}

// verdictName keeps apart what the policy denied and what never got to it.
func verdictName(v policy.Verdict, known bool) string {
	if !known {
		return "none"
	}
	return v.String()
}

func causeText(e *tool.Error) string {
	if cause := e.Unwrap(); cause != nil {
		return cause.Error()
	}
	return "no cause"
}
