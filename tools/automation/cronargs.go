package automation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

type cronArgs struct {
	Action   string         `json:"action,omitempty" jsonschema:"list (default), add, update, remove, run (now), runs (history), pause, resume or status"`
	ID       string         `json:"id,omitempty" jsonschema:"name of a job" alias:"name,jobId,job_id"`
	At       string         `json:"at,omitempty" jsonschema:"once, at a time or after a duration such as 20m" alias:"atMs,at_ms,run_at,datetime"`
	After    string         `json:"after,omitempty" jsonschema:"once after a duration" alias:"after_seconds,delay,in" hidden:"true"`
	Every    string         `json:"every,omitempty" jsonschema:"interval such as 1h" alias:"interval"`
	Cron     string         `json:"cron,omitempty" jsonschema:"5-field cron expression" alias:"expr,expression"`
	Timezone string         `json:"timezone,omitempty" jsonschema:"IANA zone of at and cron" alias:"tz,time_zone"`
	Message  string         `json:"message,omitempty" jsonschema:"reminder to send to you" alias:"text,reminder" maxlen:"20000"`
	To       string         `json:"to,omitempty" jsonschema:"contact or CHANNEL:ID that gets the message instead" alias:"chat_id,target"`
	Command  string         `json:"command,omitempty" jsonschema:"shell command to run" alias:"cmd" maxlen:"20000"`
	Prompt   string         `json:"prompt,omitempty" jsonschema:"task for a subagent" maxlen:"100000"`
	URL      string         `json:"url,omitempty" jsonschema:"or URL to POST to" alias:"webhook" hidden:"true"`
	Tool     string         `json:"tool,omitempty" jsonschema:"tool to call"`
	Args     map[string]any `json:"args,omitempty" jsonschema:"arguments of tool" alias:"arguments,tool_args,body" depth:"10"`
	Options  cronOptions    `json:"options,omitempty,omitzero" jsonschema:"how it runs"`

	Job      map[string]any `json:"job,omitempty" jsonschema:"the job as an object" alias:"patch" depth:"12" hidden:"true"`
	Schedule map[string]any `json:"schedule,omitempty" jsonschema:"the schedule as an object" hidden:"true"`
	Payload  map[string]any `json:"payload,omitempty" jsonschema:"what it does as an object" alias:"delivery" hidden:"true"`
	Mode     string         `json:"runMode,omitempty" jsonschema:"due or force" alias:"run_mode,mode" hidden:"true"`
	Limit    int            `json:"limit,omitempty" jsonschema:"how many runs to show" hidden:"true"`
	Hidden   bool           `json:"includeDisabled,omitempty" jsonschema:"ignored, all jobs are listed" hidden:"true"`
	AsKind   string         `json:"job_type,omitempty" jsonschema:"ignored, command or prompt decides" alias:"kind" hidden:"true"`
	Delete   *bool          `json:"delete_after_run,omitempty" jsonschema:"remove it after its last run" alias:"deleteAfterRun" hidden:"true"`
	Channel  string         `json:"channel,omitempty" jsonschema:"channel of to" hidden:"true"`
	EveryMS  int64          `json:"everyMs,omitempty" jsonschema:"an interval in milliseconds" alias:"every_ms" min:"0" hidden:"true"`
	Anchor   string         `json:"anchor,omitempty" jsonschema:"a time that the intervals of every start from" alias:"anchorMs" hidden:"true"`
	Enabled  *bool          `json:"enabled,omitempty" jsonschema:"false pauses it" hidden:"true"`
}

type cronOptions struct {
	Timeout int    `json:"timeout_seconds,omitempty" jsonschema:"limit of a run" alias:"timeout,timeoutSeconds" min:"1" max:"21600"`
	Retries int    `json:"retries,omitempty" jsonschema:"repeats of a failed run, if that is harmless" min:"0" max:"5"`
	Overlap string `json:"overlap,omitempty" jsonschema:"when the last run continues" enum:"skip,queue,cancel"`
	Missed  string `json:"missed,omitempty" jsonschema:"runs missed while no server ran" alias:"catch_up" enum:"once,skip,all"`
	Notify  string `json:"notify,omitempty" jsonschema:"which runs to report" enum:"always,failure,never"`
	Spread  int    `json:"spread_seconds,omitempty" jsonschema:"delay by up to so many seconds, different for each job" alias:"stagger,staggerMs" min:"0" max:"3600" hidden:"true"`
}

// nests are the fields that other systems put objects in.
var nests = []string{"job", "patch", "schedule", "payload", "delivery"}

// ignored are fields of these objects without a meaning for this tool: a job follows its other
// fields, and always runs as the caller.
var ignored = []string{"kind", "description", "deliver", "sessionTarget", "session_target", "wakeMode"}

// flattened returns a with the fields of nested objects beside its own.
func (a cronArgs) flattened() (cronArgs, error) {
	if a.Job == nil && a.Schedule == nil && a.Payload == nil {
		return a, nil
	}
	flat := map[string]any{"action": a.Action}
	if a.ID != "" {
		flat["id"] = a.ID
	}
	unnest(flat, map[string]any{"job": a.Job, "schedule": a.Schedule, "payload": a.Payload})
	a.Job, a.Schedule, a.Payload = nil, nil, nil
	encoded, err := json.Marshal(flat)
	if err != nil {
		return a, err
	}
	bound, err := tool.Prepared(cronTool{}).Bind(encoded, tool.DefaultLimits())
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(bound.JSON(), &a)
}

func unnest(flat, from map[string]any) {
	for key, value := range from {
		if inner, ok := value.(map[string]any); ok && slices.Contains(nests, key) {
			unnest(flat, inner)
		} else if ok || value != nil && (!slices.Contains(ignored, key) || key == "kind" && isFrequency(value)) {
			flat[key] = value
		}
	}
}

// isFrequency reports whether a kind says how often a job runs. Only a schedule should.
func isFrequency(kind any) bool {
	word, _ := kind.(string)
	return slices.Contains([]string{"hourly", "daily", "weekly", "monthly", "yearly"}, strings.ToLower(word))
}

// apply writes the fields of a into a job, and leaves the rest as it is.
func (a cronArgs) apply(j *savedJob, usable []tool.Tool, now time.Time) error {
	if isFrequency(a.AsKind) {
		return tool.Errorf(tool.Invalid, "kind is %q, and it is no schedule", a.AsKind).
			Try(`leave it out, and set cron to "@%s" or to an expression with five fields`, strings.ToLower(a.AsKind))
	}
	if err := a.applySchedule(j, now); err != nil {
		return err
	}
	if err := a.applyWork(j, usable); err != nil {
		return err
	}
	o := a.Options
	j.Limit = cmp.Or(min(time.Duration(o.Timeout)*time.Second, maxLimit), j.Limit, defaultLimit)
	j.Retries = cmp.Or(o.Retries, j.Retries)
	j.Overlap = cmp.Or(o.Overlap, j.Overlap, "skip")
	j.Missed = cmp.Or(o.Missed, j.Missed, "once")
	once := !j.Schedule.At.IsZero()
	j.Notify = cmp.Or(o.Notify, j.Notify)
	if j.Notify == "" {
		j.Notify = "failure"
		if once || j.Work.Tool == "" {
			j.Notify = "always"
		}
	}
	j.Delete = once
	if a.Delete != nil {
		j.Delete = *a.Delete
	}
	if a.Enabled != nil {
		j.Enabled = *a.Enabled
	}
	return nil
}

func (a cronArgs) applySchedule(j *savedJob, now time.Time) error {
	times := a.At + a.After + a.Every + a.Cron
	if times == "" && a.EveryMS == 0 && a.Timezone == "" && j.Schedule.Zone != "" {
		return nil
	}
	s := schedule.Schedule{Cron: a.Cron, Zone: cmp.Or(a.Timezone, j.Schedule.Zone, localZone())}
	zone, err := schedule.Zone(s.Zone)
	if err != nil {
		return invalid(err)
	}
	if times == "" && a.EveryMS == 0 { // another zone
		s.Cron, s.Every, s.Anchor = j.Schedule.Cron, j.Schedule.Every, j.Schedule.Anchor
		s.At, s.Since = j.Schedule.At, j.Schedule.Since
	}
	if a.At != "" {
		var ok bool
		if s.At, ok = clock.Parse(a.At, zone); !ok {
			s.At, err = clock.Add(now, a.At)
			s.Since, ok = now, err == nil
		}
		if !ok {
			return tool.Errorf(tool.Invalid, "cannot read %q as a time", text.Clip(a.At, 50)).
				Try("write 2026-01-31T09:00:00, with or without an offset, or a duration such as 20m")
		}
	}
	if a.After != "" {
		if _, err := strconv.Atoi(a.After); err == nil {
			a.After += "s"
		}
		if s.At, err = clock.Add(now, a.After); err != nil {
			return invalid(err)
		}
		s.Since = now
	}
	if a.EveryMS > 0 {
		a.Every = fmt.Sprintf("%ds", (a.EveryMS+999)/1000)
	}
	if a.Every != "" {
		until, err := clock.Add(now, a.Every)
		if err != nil {
			return invalid(err)
		}
		s.Every, s.Anchor = until.Sub(now), now
		if a.Anchor != "" {
			var ok bool
			if s.Anchor, ok = clock.Parse(a.Anchor, zone); !ok {
				return tool.Errorf(tool.Invalid, "cannot read the anchor %q as a time", text.Clip(a.Anchor, 50)).
					Try("write 2026-01-31T09:00:00")
			}
		}
	}
	if s.Cron != "" && a.Options.Spread > 0 {
		s.Spread = time.Duration(hashOf(j.ID)%uint32(a.Options.Spread+1)) * time.Second
	}
	if err := s.Check(now); err != nil {
		return invalid(err)
	}
	j.Schedule = s
	return nil
}

func invalid(err error) error {
	return tool.Errorf(tool.Invalid, "%w", err).Try("correct the schedule: at, after, every or cron")
}

// applyWork sets the work of the job. A tool must be one that the caller may use.
func (a cronArgs) applyWork(j *savedJob, usable []tool.Tool) error {
	var given []work
	if a.Message != "" && a.To == "" {
		given = append(given, work{Message: a.Message})
	}
	add := func(set bool, name string, args map[string]any) error {
		if !set {
			return nil
		}
		encoded, err := json.Marshal(args)
		given = append(given, work{Tool: name, Args: encoded})
		return err
	}
	limit := int(min(cmp.Or(a.Options.Timeout, int(defaultLimit.Seconds())), int(maxLimit.Seconds())))
	body := map[string]any{"url": a.URL, "method": "POST"}
	if a.Tool == "" && a.Args != nil {
		body["body"] = a.Args
	}
	to := map[string]any{"to": a.To, "text": a.Message}
	if a.Channel != "" {
		to["channel"] = a.Channel
	}
	if err := errors.Join(
		add(a.Message != "" && a.To != "", "message", to),
		add(a.Command != "", "exec", map[string]any{"command": a.Command, "timeout_seconds": limit}),
		add(a.Prompt != "", "spawn", map[string]any{"task": a.Prompt, "mode": "sync", "timeout": limit}),
		add(a.URL != "", "http_request", body),
		add(a.Tool != "", a.Tool, a.Args),
	); err != nil {
		return err
	}
	switch {
	case len(given) == 0 && (j.Work.Tool != "" || j.Work.Message != ""):
		return nil
	case len(given) != 1:
		return tool.Errorf(tool.Invalid, "a job does one thing; this one has %d", len(given)).
			Try("set one of message, command, prompt, url and tool")
	}
	w := given[0]
	if w.Tool == "" {
		j.Work = w
		return nil
	}
	i := slices.IndexFunc(usable, func(t tool.Tool) bool {
		return t.Spec.Name == w.Tool || slices.Contains(t.Spec.Also, w.Tool)
	})
	if i < 0 {
		return tool.Errorf(tool.NotFound, "there is no tool %q that you may use", text.Clip(w.Tool, 50)).
			Try("choose another one, or send yourself a message")
	}
	t := usable[i]
	if t.Spec.Name == "cron" {
		return errMakesJobs()
	}
	if w.Args == nil || string(w.Args) == "null" {
		w.Args = json.RawMessage("{}")
	}
	bound, err := t.Bind(w.Args, tool.DefaultLimits())
	if err != nil {
		return err
	}
	j.Work = work{Tool: t.Spec.Name, Args: bound.JSON()}
	return nil
}

// localZone returns the IANA name of the server's time zone, UTC if it has none.
func localZone() string {
	name := os.Getenv("TZ")
	if name == "" {
		if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
			_, name, _ = strings.Cut(target, "/zoneinfo/")
		}
	}
	if _, err := schedule.Zone(name); err != nil || name == "Etc/UTC" {
		return "UTC"
	}
	return name
}

func hashOf(id string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it cannot fail
	return h.Sum32()
}
