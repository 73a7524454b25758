package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// seedMessages is one of each kind, and what sits between the kinds.
func seedMessages() []string {
	return append(handshake("2025-03-26", `{"elicitation":{}}`),
		ping("1"), callLine("1", "echo", `{"text":"x"}`), modernLine("1", "tools/list", ""),
		modernLine(`"x"`, "tools/call", `"name":"chatty"`),
		modernLine("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`),
		`[`+ping("1")+`,`+ping("2")+`]`, `[]`, `[1,null]`, `{}`, `null`, `""`, ``, ` `,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","N\u0061me":"b"}}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{},"argument":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
		strings.Repeat("[", 70), "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}",
		`{"jsonrpc":"2.0","id":1,"method":"ping"}x`,
	)
}

// FuzzPost sends bodies through the whole door, in both eras. Whatever comes,
// the answer is one JSON-RPC document, or none where none is due.
func FuzzPost(f *testing.F) {
	for _, seed := range seedMessages() {
		f.Add(seed, "", "")
		f.Add(seed, "2026-07-28", "tools/call")
		f.Add(seed, "2025-06-18", "")
	}
	f.Fuzz(func(t *testing.T, body, version, method string) {
		b := newTestServer(t, func(c *Config) { c.Settings.Limits.Timeout = time.Millisecond })
		handler := newDoor(b).Handler()
		send := func(body, session string) *recorder {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a subscription stays open
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{
				"Authorization": {"Bearer alice"}, "Content-Type": {"application/json"}, mcp.HeaderSessionID: {session},
				http.CanonicalHeaderKey(mcp.HeaderProtocolVersion): {version},
				http.CanonicalHeaderKey(mcp.HeaderMethod):          {method},
				http.CanonicalHeaderKey(mcp.HeaderName):            {"echo"},
			}
			w := &recorder{header: http.Header{}}
			handler.ServeHTTP(w, r)
			return w
		}
		session := ""
		if version == "" {
			session = send(handshake("2025-03-26", "{}")[0], "").header.Get(mcp.HeaderSessionID)
		}
		w := send(body, session)
		var documents []string
		if strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream") {
			for line := range strings.Lines(w.body.String()) {
				if data, ok := strings.CutPrefix(line, "data: "); ok && !strings.Contains(data, `"method":`) {
					documents = append(documents, data)
				}
			}
		} else if w.body.Len() > 0 {
			documents = []string{w.body.String()}
		}
		if w.status != http.StatusAccepted && len(documents) != 1 || w.status == http.StatusAccepted &&
			len(documents) != 0 {
			t.Fatalf("status %d and %d documents: %q", w.status, len(documents), w.body.String())
		}
		for _, one := range documents {
			if !json.Valid([]byte(one)) || !strings.Contains(one, `"jsonrpc":"2.0"`) {
				t.Errorf("it answered %q", one)
			}
		}
	})
}

// FuzzNarrowing makes wishes. What comes of them is never more than before.
func FuzzNarrowing(f *testing.F) {
	f.Add("echo,slow", "", "", "")
	f.Add("*", "all", "change", "true")
	f.Add("group:test,!echo", "test,,", "", "no")
	f.Add("", "*", "ech?", "1")
	b := newTestServer(f)
	usual := map[string]map[string]bool{"full": {}, "readonly": {}}
	access := func(profile string) Access {
		a := testAccess()
		a.Caller.Profile = profile
		return a
	}
	for profile, names := range usual {
		for _, one := range b.Tools(access(profile)) {
			names[one.Spec.Name] = true
		}
	}
	f.Fuzz(func(t *testing.T, tools, toolsets, exclude, readOnly string) {
		header := http.Header{}
		for name, value := range map[string]string{
			"X-Mcp-Tools": tools, "X-Mcp-Toolsets": toolsets, "X-Mcp-Exclude-Tools": exclude,
			"X-Mcp-Readonly": readOnly,
		} {
			if value != "" {
				header.Set(name, value)
			}
		}
		for profile, names := range usual {
			a := access(profile)
			a.Narrow = narrowing(header)
			for _, one := range b.Tools(a) {
				if !names[one.Spec.Name] {
					t.Errorf("%v shows %s to %s", header, one.Spec.Name, profile)
				}
			}
		}
	})
}

// FuzzSeal forges request states, with true ones to start from.
func FuzzSeal(f *testing.F) {
	s, err := newSeal()
	if err != nil {
		f.Fatal(err)
	}
	now := time.Now()
	made := callState{For: callKey{Principal: "a/u", Tool: "launch"}, Approved: true, Expires: now.Add(time.Hour)}
	f.Add("", 0, byte(1))
	f.Add("AAAA", 10, byte(128))
	f.Add(strings.Repeat("_", 200), 50, byte(0))
	f.Fuzz(func(t *testing.T, forged string, at int, flip byte) {
		if _, err := s.open(forged, now); err == nil {
			t.Fatalf("%q was opened", forged)
		}
		state, err := s.close(made)
		if err != nil {
			t.Fatal(err)
		}
		changed := []byte(state)
		changed[uint(at)%uint(len(changed))] ^= flip
		if flip != 0 {
			if _, err := s.open(string(changed), now); err == nil {
				t.Errorf("%q was opened, made was %q", changed, state)
			}
		}
		if got, err := s.open(state, now); err != nil || got.For != made.For {
			t.Errorf("a true state: %+v, %v", got, err)
		}
		if _, err := s.open(state, now); !errors.Is(err, errUsedState) {
			t.Errorf("used twice: %v", err)
		}
		old, err := s.close(callState{Expires: now.Add(-time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.open(old, now); !errors.Is(err, errExpiredState) {
			t.Errorf("an old one: %v", err)
		}
	})
}

// TestAStateHasOneSpelling changes the bits that the last letter of base64
// leaves unused.
func TestAStateHasOneSpelling(t *testing.T) {
	s, err := newSeal()
	if err != nil {
		t.Fatal(err)
	}
	for length := range 3 { // with and without such bits
		state, err := s.close(callState{State: strings.Repeat("x", length), Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		last := len(state) - 1
		for _, letter := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
			if changed := state[:last] + string(letter); changed != state {
				if _, err := s.open(changed, time.Now()); err == nil {
					t.Errorf("%q was opened, made was %q", changed, state)
				}
			}
		}
	}
}
