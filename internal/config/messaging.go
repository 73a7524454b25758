package config

import (
	"maps"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat/services"
	"github.com/mcp-tools/mcp-tools/policy"
)

// Messaging has the settings of messages to people, and from them.
type Messaging struct {
	Channels   map[string]MessagingChannel `yaml:"channels" keys:"name"`
	Targets    map[string][]string         `yaml:"targets" keys:"label" form:"target"`
	Bindings   []MessagingBinding          `yaml:"bindings"`
	Approvers  map[string][]string         `yaml:"approvers" keys:"label" form:"target"`
	Notify     []MessagingNotify           `yaml:"notify"`
	QuietHours QuietHours                  `yaml:"quiet_hours"`
}

// A MessagingChannel is an account at a service of chats.
type MessagingChannel struct {
	Kind       string   `yaml:"kind" enum:"*services"`
	Token      Secret   `yaml:"token" form:"secret"`
	AppToken   Secret   `yaml:"app_token" form:"secret"`
	Secret     Secret   `yaml:"signing_secret" form:"secret"`
	EncryptKey Secret   `yaml:"encrypt_key" form:"secret"`
	AppID      string   `yaml:"app_id" form:"label"`
	PublicKey  string   `yaml:"public_key" form:"label"`
	URL        string   `yaml:"url" form:"url"`
	SMTP       string   `yaml:"smtp" form:"hostport"`
	IMAP       string   `yaml:"imap" form:"hostport"`
	User       string   `yaml:"user" form:"label"`
	From       string   `yaml:"from" form:"label"`
	Verifier   string   `yaml:"verifier" form:"label"`
	Hosts      []string `yaml:"hosts" form:"hostport"`
	Receive    string   `yaml:"receive" enum:"off,pull,hook"`
}

// KindOf returns the kind of a channel with a name.
func (c MessagingChannel) KindOf(name string) string {
	if c.Kind != "" {
		return c.Kind
	}
	return name
}

// A MessagingBinding says where the messages of a chat go.
type MessagingBinding struct {
	Chat    string   `yaml:"chat" form:"target" required:"true"`
	Agent   string   `yaml:"agent" form:"label"`
	User    string   `yaml:"user" form:"label"`
	Team    string   `yaml:"team" form:"label"`
	Session string   `yaml:"session" form:"label"`
	Profile string   `yaml:"profile" form:"label"`
	Answer  bool     `yaml:"answer"`
	Tools   []string `yaml:"tools" form:"label"`
	Writers []string `yaml:"writers" form:"label"`
}

// A MessagingNotify says which events are sent where.
type MessagingNotify struct {
	Events   []string `yaml:"events" enum:"task_done,job_failed,approval_open,question_open,budget"`
	To       []string `yaml:"to" form:"target" required:"true"`
	Agents   []string `yaml:"agents" form:"label"`
	Debounce Duration `yaml:"debounce" min:"0" max:"1d"`
}

// QuietHours are the hours of a day in which notices wait.
type QuietHours struct {
	From string `yaml:"from" form:"clock"`
	To   string `yaml:"to" form:"clock"`
	Zone string `yaml:"zone" form:"label"`
}

func (m Messaging) check(add func(path, format string, args ...any)) {
	for _, name := range sorted(m.Channels) {
		c, at := m.Channels[name], under("messaging.channels", name)
		service := services.Find(c.KindOf(name))
		if service.Name == "" {
			add(at+".kind", "set it: only a channel that is named like its kind can do without")
		}
		set := map[string]string{"token": string(c.Token), "app_token": string(c.AppToken), "app_id": c.AppID,
			"signing_secret": string(c.Secret), "encrypt_key": string(c.EncryptKey), "public_key": c.PublicKey,
			"url": c.URL, "smtp": c.SMTP, "imap": c.IMAP, "user": c.User, "from": c.From, "verifier": c.Verifier}
		for _, s := range service.Settings {
			switch {
			case !s.Required || set[s.Name] != "":
			case s.Name == "token":
				add(at+".token", "set it, for example to secret:%s; mcp-tools secrets set %s stores it", name, name)
			default:
				add(at+"."+s.Name, "set it: %s needs it", service.Title)
			}
		}
	}
	known := func(path, target string) {
		name, _, _ := strings.Cut(target, ":")
		if _, ok := m.Channels[name]; !ok && strings.Contains(target, ":") {
			add(path, "there is no channel %q in messaging.channels", name)
		}
	}
	for _, profile := range sorted(m.Targets) {
		for i, target := range m.Targets[profile] {
			known(indexed(under("messaging.targets", profile), i), target)
		}
	}
	for i, b := range m.Bindings {
		known(indexed("messaging.bindings", i)+".chat", b.Chat)
	}
	for _, name := range sorted(m.Approvers) {
		for i, target := range m.Approvers[name] {
			at := indexed(under("messaging.approvers", name), i)
			if known(at, target); isPattern(target) {
				add(at, "name the chat or the ID of a person: an approver is one person")
			}
		}
	}
	for i, rule := range m.Notify {
		for j, target := range rule.To {
			at := indexed(indexed("messaging.notify", i)+".to", j)
			if known(at, target); isPattern(target) {
				add(at, "name one chat: a notice goes to the first that can be reached")
			}
		}
	}
	if q := m.QuietHours; (q.From == "") != (q.To == "") {
		add("messaging.quiet_hours", "set both from and to, or neither")
	}
	if _, err := time.LoadLocation(m.QuietHours.Zone); err != nil {
		add("messaging.quiet_hours.zone", "there is no time zone %q; write it like Europe/Berlin", m.QuietHours.Zone)
	}
}

// anyTarget stands for all chats, or those of a channel.
const anyTarget = "*"

// isPattern reports whether a target stands for more than one chat.
func isPattern(target string) bool {
	return target == anyTarget || strings.HasSuffix(target, ":"+anyTarget)
}

// withChats returns the rules of the policy with what bindings say about their chats, unless the
// policy has the chat itself. Tools of a topic narrow the calls for it; see package inbound.
func (m Messaging) withChats(r policy.Rules) policy.Rules {
	r.Groups, r.Writers = maps.Clone(r.Groups), maps.Clone(r.Writers)
	for _, b := range m.Bindings {
		chat := b.Chat
		if strings.HasSuffix(chat, anyTarget) || strings.Contains(chat, ":topic:") {
			continue
		}
		if _, listed := r.Groups[chat]; !listed && b.Tools != nil {
			if r.Groups == nil {
				r.Groups = make(map[string]policy.List)
			}
			r.Groups[chat] = policy.List(b.Tools)
		}
		if _, listed := r.Writers[chat]; !listed && b.Writers != nil {
			if r.Writers == nil {
				r.Writers = make(map[string][]string)
			}
			r.Writers[chat] = b.Writers
		}
	}
	return r
}
