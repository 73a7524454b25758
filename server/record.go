package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An AuditLog records every call. *[audit.Log] implements it.
type AuditLog interface {
	// Append returns when the record survives the death of this process. The
	// texts of the record have been scrubbed.
	Append(ctx context.Context, r audit.Record) error
}

// An Observer measures every call. *[telemetry.Calls] implements it.
type Observer interface {
	Start(ctx context.Context, b telemetry.Begin) (context.Context, func(telemetry.End))
	Running(n int)
	Queued(n int)
	Sessions(n int)
	Limited(reason string)
}

// noObserver measures nothing.
type noObserver struct{}

func (noObserver) Start(ctx context.Context, _ telemetry.Begin) (context.Context, func(telemetry.End)) {
	return ctx, func(telemetry.End) {}
}
func (noObserver) Running(int)    {}
func (noObserver) Queued(int)     {}
func (noObserver) Sessions(int)   {}
func (noObserver) Limited(string) {}

type digest [sha256.Size]byte

// sum returns the digest of texts with a zero byte after each. Neither names nor
// JSON contain zero bytes, so no two lists of texts have the same digest.
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

// begin returns the observer's facts about a call that comes in. The tool is named only if it
// exists: metrics must not grow with names that clients invent.
func (c *call) begin(name string) telemetry.Begin {
	b := telemetry.Begin{Caller: c.Caller, Transport: c.Transport, Meta: c.Trace}
	if t, ok := c.now.tools.Lookup(name); ok {
		b.Tool = t.Spec.Name
	}
	return b
}

// An outcome is how a call ended.
type outcome struct {
	attempt
	name    string // "ok", "cached", "asked", or the kind of the failure
	kind    tool.Kind
	end     string         // tool.Result.End
	head    string         // of the text of the result, if it is recorded
	size    int            // bytes of the result
	digest  digest         // of the result
	repeats int            // equal results in a row, if the model was advised
	removed map[string]int // secrets removed from the result, by kind
	err     error
}

func outcomeName(res tool.Result) string {
	if res.Failed {
		return string(res.Kind)
	}
	return "ok"
}

// entry returns the record of a call as far as a is known.
func (c *call) entry(a attempt) audit.Record {
	scrub, who := c.server.scrub, c.Caller
	r := audit.Record{
		Phase: audit.Done, Kind: c.kind, Call: c.id, Parent: c.Parent,
		Tool: c.toolName(), Agent: who.Agent, User: who.User, Session: who.Session, Transport: c.Transport,
		Profile: c.now.Policy.ProfileOf(c.subject()), Verdict: a.verdict.String(),
		Approval:   strings.Trim(a.ask+", "+a.approval.how, ", "),
		ArgsDigest: a.args.String(), Trace: text.Clip(scrub.Text(c.Trace["traceparent"]), 64),
	}
	if a.edited.Question != "" {
		r.Approval += ", arguments changed by a person"
	}
	if len(a.hooks) > 0 {
		r.Approval = strings.TrimLeft(r.Approval+", hooks: "+strings.Join(a.hooks, ", "), ", ")
	}
	if a.found {
		r.Tool, r.Risk = a.tool.Spec.Name, a.tool.Spec.Risk.String()
		if a.risk.Valid() {
			r.Risk = a.risk.String()
		}
		if c.Tool != r.Tool {
			r.Alias = c.Tool
		}
	}
	if c.now.AuditAbout {
		r.About = c.aboutLine()
	}
	if c.now.AuditArgs {
		r.ArgsShape = text.Clip(string(scrub.JSON(c.Args)), maxAuditArgs)
	}
	return r
}

// maxAuditArgs bounds the arguments that the audit log keeps, if the operator
// wants them.
const maxAuditArgs = 500

// maxAuditHead bounds the beginning of a result that the audit log keeps, if the operator wants it.
const maxAuditHead = 500

// recordIntent records a call that may change something before it runs, so that
// it is recorded even if this process dies in the middle of it.
func (c *call) recordIntent(ctx context.Context, a attempt) error {
	r := c.entry(a)
	r.Phase = audit.Intent
	if err := c.server.AuditLog.Append(ctx, r); err != nil {
		c.server.log.Error("the audit log cannot be written", "err", err)
		return auditError(a, err)
	}
	return nil
}

// record records how a call ended, and ends its observation. An error means that
// the call could not be recorded: then the caller gets nothing else.
func (c *call) record(ctx context.Context, observe func(telemetry.End), o outcome) (failed *tool.Error) {
	r := c.entry(o.attempt)
	duration := time.Since(c.start)
	r.Duration = float64(duration) / float64(time.Millisecond)
	r.Outcome, r.Bytes, r.ResultDigest, r.Repeats = o.name, int64(o.size), o.digest.String(), o.repeats
	r.End, r.Head = c.server.scrub.Text(o.end), o.head
	for _, n := range o.removed {
		r.Redactions += n
	}
	if o.err != nil {
		r.Error = c.server.scrub.Text(o.err.Error())
		if known := tool.AsError(o.err); known.Kind == tool.Internal {
			r.Error = c.server.scrub.Text(known.Error() + ": " + causeText(known))
			c.server.log.Error("a tool failed", "tool", r.Tool, "call", c.id, "err", r.Error)
		}
	}
	err := o.err
	if broken := c.server.AuditLog.Append(context.WithoutCancel(ctx), r); broken != nil {
		c.server.log.Error("the audit log cannot be written", "err", broken)
		failed = auditError(o.attempt, broken)
		err, o.kind, o.name = failed, failed.Kind, string(failed.Kind)
	}
	verdict := "none" // a call that never reached the policy was not denied by it
	if o.found {
		verdict = o.verdict.String()
	}
	observe(telemetry.End{
		Verdict: verdict, Outcome: o.name, Kind: string(o.kind), Duration: duration, QueueWait: o.waited,
		BytesOut: o.size, Redactions: o.removed, Err: err,
	})
	return failed
}

// countUse reports a call to the counters of sessions. Tokens are estimated from the bytes that
// the model wrote and read.
func (c *call) countUse(res tool.Result) {
	if c.server.Used == nil {
		return
	}
	use := tool.Use{
		Client: c.Client, Calls: 1,
		TokensIn: int64(res.Size() / bytesPerToken), TokensOut: int64(len(c.Args) / bytesPerToken),
	}
	if c.Nested { // the model neither wrote nor reads it
		use.TokensIn, use.TokensOut = 0, 0
	}
	if res.Failed {
		use.Failed = 1
	}
	c.server.Used(c.Caller, use)
}

const bytesPerToken = 4

// auditError returns the error for a call that could not be recorded, with the next step.
func auditError(a attempt, cause error) *tool.Error {
	const lasting = "if it lasts, tell the operator: the server's log has the cause"
	switch {
	case !a.started:
		return tool.Errorf(tool.Unavailable, "the audit log cannot be written at present, so nothing was done").
			Because(cause).Try("try again in some seconds; %s", lasting)
	case a.risk == tool.Reads:
		return tool.Errorf(tool.Unavailable, "the audit log cannot be written at present, so the result is withheld").
			Because(cause).Try("try again in some seconds; %s", lasting)
	}
	return tool.Errorf(tool.Unavailable,
		"the call was made, but the audit log cannot be written at present, so its result is withheld").
		Because(cause).Try("look at what it has changed before you repeat it; %s", lasting)
}

func causeText(e *tool.Error) string {
	if cause := e.Unwrap(); cause != nil {
		return cause.Error()
	}
	return "no cause"
}
