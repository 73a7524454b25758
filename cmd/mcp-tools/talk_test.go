package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// hang is when a test gives up waiting. It measures nothing, and is long enough for a
// busy machine.
const hang = 3 * time.Minute

// talk FILE COMMAND... is a client for scripts: it starts a server, sends it
// the lines of a file, ends its input, and prints what it answered. After each
// request it waits for the answer, so that what is said first is done first.
// Answers without an id come first, then the others in the order of their ids,
// then notifications. What differs from run to run is replaced by a word. Its
// exit code is that of the server.
func talk() int {
	said, err := converseWith(os.Args[1], os.Args[2:])
	for _, line := range said {
		fmt.Println(line)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "talk:", err)
		return 3
	}
	return 0
}

func converseWith(file string, command []string) ([]string, error) {
	script, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := conversation{in: in, heard: make(chan heard)}
	go c.listen(out)
	err = c.say(bytes.Lines(script))
	err = errors.Join(err, in.Close())
	for line := range c.heard {
		c.lines = append(c.lines, line)
	}
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return c.sorted(), cmd.Wait()
}

type conversation struct {
	in    io.Writer
	heard chan heard
	lines []heard
}

// heard is a line of the server's, and the id in it.
type heard struct {
	id   string // "" for a notification
	text string
}

func (c *conversation) listen(out io.Reader) {
	defer close(c.heard)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			c.heard <- heard{idIn(line), strings.TrimSpace(string(line))}
		}
		if err != nil {
			return
		}
	}
}

func (c *conversation) say(lines func(func([]byte) bool)) (err error) {
	lines(func(line []byte) bool {
		if len(bytes.TrimSpace(line)) == 0 {
			return true
		}
		if _, err = c.in.Write(line); err == nil && idIn(line) != "" {
			err = c.await(idIn(line))
		}
		return err == nil
	})
	return err
}

func (c *conversation) await(id string) error {
	patience := time.NewTimer(hang)
	defer patience.Stop()
	for {
		select {
		case line, open := <-c.heard:
			if !open {
				return fmt.Errorf("the server ended without an answer to %s", id)
			}
			if c.lines = append(c.lines, line); line.id == id {
				return nil
			}
		case <-patience.C:
			return fmt.Errorf("no answer to %s", id)
		}
	}
}

// idIn is the id in one message as it is written, "" where there is none.
func idIn(line []byte) string {
	var message struct{ ID json.RawMessage }
	if json.Unmarshal(line, &message) != nil {
		return ""
	}
	return string(message.ID)
}

// volatile matches text that differs from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`("serverInfo":\{[^}]*"version":")[^"]*`), "${1}VERSION"},
	{regexp.MustCompile(`("io.modelcontextprotocol/serverInfo":\{[^}]*"version":")[^"]*`), "${1}VERSION"},
	{regexp.MustCompile(`("instructions":")(?:[^"\\]|\\.)*`), "${1}TEXT"},
	{regexp.MustCompile(`(Profile: \w+, )\d+ tools`), "${1}N tools"},
	{regexp.MustCompile(`(Server: mcp-tools )[^\\"]*`), "${1}VERSION"},
	{regexp.MustCompile(`(Session: )[^\\"]*`), "${1}SESSION"},
	{regexp.MustCompile(`\d+( more may be made)`), "N${1}"},
	{regexp.MustCompile(`\d+( tools, autonomy)`), "N${1}"},
	{regexp.MustCompile(`(Since: )[^\\"]*`), "${1}TIME"},
}

func (c *conversation) sorted() []string {
	rank := func(id string) int {
		switch {
		case id == "null":
			return 0
		case id == "":
			return 3
		case strings.HasPrefix(id, `"`):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(c.lines, func(x, y heard) int {
		return cmp.Or(cmp.Compare(rank(x.id), rank(y.id)), cmp.Compare(len(x.id), len(y.id)), cmp.Compare(x.id, y.id))
	})
	var out []string
	for _, line := range c.lines {
		for _, v := range volatile {
			line.text = v.pattern.ReplaceAllString(line.text, v.word)
		}
		out = append(out, line.text)
	}
	return out
}
