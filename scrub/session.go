package scrub

import (
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Session identifies a conversation.
type Session struct{ Agent, User, ID string }

const (
	maxSessions   = 128 // that one Scrubber remembers, the last used ones
	maxRemembered = 32  // values of one session, the last masked ones
	minRemembered = 8   // bytes of a value
	topRemembered = 256 // bytes of a value
)

// For returns the Scrubber of a session. It masks the secrets of s. Each value that it has
// masked in this session is a known value from then on: it is found without its name, in the
// encodings of [Scrubber.Set], reversed, and with blanks or line breaks between its characters.
// Values that could be ordinary words are not remembered.
func (s *Scrubber) For(x Session) *Scrubber {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.sessions[x]
	if of == nil {
		if len(s.sessions) == maxSessions {
			s.forgetOldest()
		}
		if s.sessions == nil {
			s.sessions = make(map[Session]*Scrubber)
		}
		of = &Scrubber{parent: s}
		s.sessions[x] = of
	}
	s.uses++
	of.memory.lastUse = s.uses
	return of
}

// forgetOldest removes the session that was not used for longest. The caller holds mu.
func (s *Scrubber) forgetOldest() {
	var oldest Session
	least := s.uses + 1
	for x, of := range s.sessions {
		if of.memory.lastUse < least {
			oldest, least = x, of.memory.lastUse
		}
	}
	delete(s.sessions, oldest)
}

// A memory has the values that were masked in a session. It may be used concurrently.
type memory struct {
	lastUse uint64 // in the order of all sessions; the parent's mu guards it
	now     atomic.Pointer[remembered]

	mu     sync.Mutex
	values []rememberedValue // the oldest first
}

// remembered is a program that also finds the values of a session.
type remembered struct {
	base, all *program
}

type rememberedValue struct {
	text  string
	forms []valueForm
}

// program returns a program that finds the secrets of base, and the values.
func (m *memory) program(base *program) *program {
	now := m.now.Load()
	if now == nil || now.base == base {
		if now == nil {
			return base
		}
		return now.all
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.build(base)
}

// build makes a program. The caller holds mu.
func (m *memory) build(base *program) *program {
	var forms []valueForm
	for _, v := range m.values {
		forms = append(forms, v.forms...)
	}
	all := base.with(forms)
	m.now.Store(&remembered{base, all})
	return all
}

// learn remembers the values of spans of text, and reports whether there was a new one.
func (m *memory) learn(base *program, text string, spans []span) bool {
	var values []string
	for _, f := range spans {
		if f.mask != "" || f.kind == "value" || f.kind == "private_key" {
			continue
		}
		v := strings.TrimSpace(text[f.from:f.to])
		values = append(values, v)
		if i := strings.LastIndexAny(v[:min(len(v), 16)], "_-"); i > 0 && len(v)-i > 16 {
			values = append(values, v[i+1:]) // without the prefix of its format
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return !memorable(v) })
	if len(values) == 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	isNew := false
	for _, v := range values[:min(len(values), maxRemembered)] {
		if slices.ContainsFunc(m.values, func(old rememberedValue) bool { return old.text == v }) {
			continue
		}
		isNew = true
		v = strings.Clone(v)
		m.values = append(m.values, rememberedValue{v, sessionForms(v)})
	}
	if isNew {
		m.values = slices.Delete(m.values, 0, max(0, len(m.values)-maxRemembered))
		m.build(base)
	}
	return isNew
}

// sessionForms returns the forms of a value of a session.
func sessionForms(v string) (all []valueForm) {
	forms := formsOf(v, "")
	for i := range forms {
		switch {
		case forms[i].folded:
			forms[i].gaps = blank | colon
		case !forms[i].inBase64:
			forms[i].wraps = true
		}
	}
	reversed := []byte(v)
	slices.Reverse(reversed)
	forms = append(forms, form{text: string(reversed), wraps: true}, form{text: v, spaced: true},
		form{text: string(reversed), spaced: true})
	for _, f := range forms {
		all = append(all, valueForm{len(f.text), f.triggers()})
	}
	return all
}

// memorable reports whether a value is a secret wherever it stands: it is long enough,
// and it is no word, name, version or path.
func memorable(v string) bool {
	if len(v) < minRemembered || len(v) > topRemembered || checkValue(v) != nil || white.any(v) || pathLike(v) ||
		placeholder(v) || !ascii(v) || strings.Contains(v, "://") || isNumber(v) || sourcePath(v) || digest(v) {
		return false
	}
	var seen [256]bool
	distinct := 0
	for i := range len(v) {
		if !seen[v[i]] {
			seen[v[i]] = true
			distinct++
		}
	}
	return distinct >= 6 && letter.any(v) && !wordy(v)
}

// sourcePath reports whether v is a relative path to a file: src/main_test9x.go. A page
// that names such a path a token must not hide it from an agent that works on it.
func sourcePath(v string) bool {
	extension := strings.TrimPrefix(path.Ext(v), ".")
	return strings.Contains(v, "/") && extension != "" && len(extension) <= 5 && letter.all(extension)
}

// digest reports whether v is a SHA-256 in small hexadecimal digits, as the ids of images are.
func digest(v string) bool {
	return len(v) == 64 && strings.Trim(v, "0123456789abcdef") == ""
}

// wordy reports whether v consists of words and numbers: hunter22, app.example.com, v1.2.3-rc4,
// getUserName. Words may end in digits.
func wordy(v string) bool {
	parts := strings.FieldsFunc(v, func(r rune) bool { return r > 0x7f || !alnum.has(byte(r)) })
	for _, part := range parts {
		name := strings.TrimRight(part, "0123456789")
		small := strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		switch {
		case name == "" && len(part) <= 4, camelCase(name):
		case name == "" || !letter.all(name) || len(part)-len(name) > 4 || unpronounceable(part):
			return false
		case !lower.all(small) || len(name)-len(small) > 1 && small != "":
			return false
		}
	}
	return true
}
