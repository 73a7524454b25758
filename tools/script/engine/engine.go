package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
)

const (
	// maxMemory is the memory of a script and the engine, in bytes.
	maxMemory = 256 << 20
	// maxPrinted is the most that a script prints, in bytes.
	maxPrinted = 256 << 10
	// maxDepth bounds calls of functions within each other.
	maxDepth = 2000
)

// Main is the main function of the process. It returns the exit code.
func Main() int {
	if err := child.Limit(maxMemory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Reading goes on while the script computes: the end of stdin ends this process.
	in := make(chan Reply)
	var start Start
	from := bufio.NewReader(os.Stdin)
	if err := Receive(from, &start); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for {
			var r Reply
			if err := Receive(from, &r); err != nil {
				os.Exit(0) // the server has ended the script
			}
			in <- r
		}
	}()
	child.Yield() // an endless loop must not slow the server down
	if err := Run(start, os.Stdout, in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Run runs a script to its end. It sends messages to out, and receives the replies.
func Run(start Start, out io.Writer, replies <-chan Reply) error {
	s := &script{vm: goja.New(), out: out, replies: replies}
	end := s.run(start)
	if err := s.send(Message{End: &end}); err != nil {
		return Send(out, Message{End: &End{Error: "the result is too long: " + err.Error() + "; return less"}})
	}
	return nil
}

// A script is a script that runs.
type script struct {
	vm        *goja.Runtime
	out       io.Writer
	replies   <-chan Reply
	parse     goja.Callable // JSON.parse
	stringify goja.Callable
	printed   strings.Builder // since the last message
	total     int             // bytes that were printed
	timers    []*timer
	lastTimer int64
}

func (s *script) send(m Message) error {
	m.Printed = s.printed.String()
	s.printed.Reset()
	return Send(s.out, m)
}

func (s *script) run(start Start) End {
	program, err := compile(start.Code)
	if err != nil {
		return s.failure(err)
	}
	s.vm.SetMaxCallStackSize(maxDepth)
	if err := s.define(start); err != nil {
		return s.failure(err)
	}
	function, err := s.vm.RunProgram(program)
	if err != nil {
		return s.failure(err)
	}
	call, _ := goja.AssertFunction(function)
	result, err := call(goja.Undefined())
	if err != nil {
		return s.failure(err)
	}
	promise, ok := result.Export().(*goja.Promise)
	if !ok {
		return End{Error: "the script is not a function"}
	}
	for promise.State() == goja.PromiseStatePending {
		if more, err := s.fire(); err != nil {
			return s.failure(err)
		} else if !more {
			return End{Error: "the script waits for a promise that nothing resolves; await only calls of tools"}
		}
	}
	if promise.State() == goja.PromiseStateRejected {
		return s.thrown(promise.Result())
	}
	return s.value(promise.Result())
}

// value returns the end of a script that returned v.
func (s *script) value(v goja.Value) End {
	if text, ok := v.Export().(string); ok {
		return End{Text: text}
	}
	text, err := s.stringify(goja.Undefined(), v)
	if err != nil {
		return s.failure(err)
	}
	if goja.IsUndefined(text) {
		return End{}
	}
	return End{Value: json.RawMessage(text.String())}
}

// failure describes an error of the engine.
func (s *script) failure(err error) End {
	var bad *problem
	var deep *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &bad):
		return End{Error: bad.text, Line: bad.line}
	case errors.As(err, &deep):
		return End{Error: "RangeError: too many functions call each other", Line: lineOf(deep.String())}
	case errors.As(err, &thrown):
		return s.thrown(thrown.Value())
	}
	return End{Error: err.Error()}
}

// thrown describes the value that a script has thrown.
func (s *script) thrown(v goja.Value) End {
	object, ok := v.(*goja.Object)
	if !ok || object.Get("stack") == nil {
		end := s.value(v)
		if end.Text == "" {
			end.Text = string(end.Value)
		}
		return End{Error: "the script threw " + end.Text}
	}
	text := v.String()
	if tool := object.Get("tool"); tool != nil {
		text = "tools." + tool.String() + ": " + object.Get("message").String()
	}
	if strings.Contains(text, "'then'") || strings.Contains(text, "'catch'") {
		text += "; calls of tools return values: use await, try and catch"
	}
	if strings.HasSuffix(text, "is not defined") {
		text += "; beside the language there are tools, call, args, print, sleep and setTimeout"
	}
	return End{Error: text, Line: lineOf(object.Get("stack").String())}
}

// lineOf returns the line of the code in a stack, or 0.
func lineOf(stack string) int {
	_, rest, found := strings.Cut(stack, sourceName+":")
	number, _, _ := strings.Cut(rest, ":")
	line, err := strconv.Atoi(number)
	if !found || err != nil || line < 2 {
		return 0
	}
	return line - 1 // the first line belongs to wrap
}

// define defines the additions to the language.
func (s *script) define(start Start) error {
	object := s.vm.Get("JSON").ToObject(s.vm)
	s.parse, _ = goja.AssertFunction(object.Get("parse"))
	s.stringify, _ = goja.AssertFunction(object.Get("stringify"))
	console := s.vm.NewObject()
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		if err := console.Set(name, s.print); err != nil {
			return err
		}
	}
	args := goja.Undefined()
	if start.Args != nil {
		var err error
		if args, err = s.parse(goja.Undefined(), s.vm.ToValue(string(start.Args))); err != nil {
			return err
		}
	}
	for name, value := range map[string]any{
		"tools": s.vm.NewDynamicObject(&toolbox{s, start.Tools, map[string]goja.Value{}}),
		"print": s.print, "console": console, "args": args, "call": s.callNamed, "setTimeout": s.setTimeout,
		"clearTimeout": s.clearTimeout,
	} {
		if err := s.vm.Set(name, value); err != nil {
			return err
		}
	}
	_, err := s.vm.RunString(`globalThis.sleep = ms => new Promise(done => setTimeout(done, ms))`)
	return err
}

// print adds a line to the output of the script.
func (s *script) print(c goja.FunctionCall) goja.Value {
	words := make([]string, len(c.Arguments))
	for i, v := range c.Arguments {
		if _, isObject := v.(*goja.Object); isObject {
			if text, err := s.stringify(goja.Undefined(), v); err == nil && !goja.IsUndefined(text) {
				v = text
			}
		}
		words[i] = v.String()
	}
	line := strings.Join(words, " ") + "\n"
	if s.total += len(line); s.total <= maxPrinted {
		s.printed.WriteString(line)
	} else if s.total-len(line) <= maxPrinted {
		s.printed.WriteString("[no more is printed]\n")
	}
	return goja.Undefined()
}

// A toolbox is the object tools.
type toolbox struct {
	script *script
	names  []string
	made   map[string]goja.Value
}

// Get returns the function for any name, so that a wrong one gets the answer of the server.
func (t *toolbox) Get(name string) goja.Value {
	switch name {
	case "then", "toJSON", "constructor", "toString", "valueOf":
		return nil
	}
	if f, ok := t.made[name]; ok {
		return f
	}
	f := t.script.vm.ToValue(func(c goja.FunctionCall) goja.Value { return t.script.call(name, c.Argument(0)) })
	t.made[name] = f
	return f
}

// Set refuses.
func (*toolbox) Set(string, goja.Value) bool { return false }

// Has reports whether there is a tool with the name.
func (t *toolbox) Has(name string) bool { return t.Get(name) != nil }

// Delete refuses.
func (*toolbox) Delete(string) bool { return false }

// Keys lists the tools.
func (t *toolbox) Keys() []string { return t.names }

// callNamed is the function call(name, args).
func (s *script) callNamed(c goja.FunctionCall) goja.Value {
	return s.call(c.Argument(0).String(), c.Argument(1))
}

// call calls a tool, and returns its value or throws.
func (s *script) call(name string, args goja.Value) goja.Value {
	raw := json.RawMessage("{}")
	if !goja.IsUndefined(args) && !goja.IsNull(args) {
		text, err := s.stringify(goja.Undefined(), args)
		if err != nil {
			panic(err)
		}
		raw = json.RawMessage(text.String())
	}
	if err := s.send(Message{Call: &Call{Tool: name, Args: raw}}); err != nil {
		s.throw(name, Reply{Kind: "too_large", Error: "too_large: " + err.Error()})
	}
	r := <-s.replies
	if r.Error != "" {
		s.throw(name, r)
	}
	if r.Value == nil {
		return s.vm.ToValue(r.Text)
	}
	value, err := s.parse(goja.Undefined(), s.vm.ToValue(string(r.Value)))
	if err != nil {
		panic(err)
	}
	return value
}

// throw throws the error of a call.
func (s *script) throw(name string, r Reply) {
	made, err := s.vm.New(s.vm.Get("Error"), s.vm.ToValue(r.Error))
	if err != nil {
		panic(err)
	}
	_ = made.Set("kind", r.Kind) // an error of our own can be written to
	_ = made.Set("tool", name)
	panic(made)
}

// A timer calls a function later.
type timer struct {
	id   int64
	at   time.Time
	call func() error
}

func (s *script) after(ms int64, call func() error) int64 {
	s.lastTimer++
	wait := time.Duration(min(max(ms, 0), 3_600_000)) * time.Millisecond
	s.timers = append(s.timers, &timer{s.lastTimer, time.Now().Add(wait), call})
	return s.lastTimer
}

// setTimeout calls a function after some milliseconds.
func (s *script) setTimeout(c goja.FunctionCall) goja.Value {
	f, ok := goja.AssertFunction(c.Argument(0))
	if !ok {
		panic(s.vm.NewTypeError("setTimeout needs a function"))
	}
	var more []goja.Value
	if len(c.Arguments) > 2 {
		more = c.Arguments[2:]
	}
	return s.vm.ToValue(s.after(c.Argument(1).ToInteger(), func() error {
		_, err := f(goja.Undefined(), more...)
		return err
	}))
}

func (s *script) clearTimeout(c goja.FunctionCall) goja.Value {
	id := c.Argument(0).ToInteger()
	for i, t := range s.timers {
		if t.id == id {
			s.timers = append(s.timers[:i:i], s.timers[i+1:]...)
			break
		}
	}
	return goja.Undefined()
}

// fire waits for the next timer and calls its function. It returns false if there is none.
func (s *script) fire() (bool, error) {
	if len(s.timers) == 0 {
		return false, nil
	}
	first := 0
	for i, t := range s.timers {
		if t.at.Before(s.timers[first].at) {
			first = i
		}
	}
	next := s.timers[first]
	s.timers = append(s.timers[:first:first], s.timers[first+1:]...)
	time.Sleep(time.Until(next.at))
	return true, next.call()
}
