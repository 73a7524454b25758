package messaging

import (
	"embed"
	"maps"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/services"
)

// Settings are the settings of messages to people, and from them.
type Settings struct {
	Channels   map[string]ChannelSettings `yaml:"channels" keys:"name"`
	Targets    map[string][]string        `yaml:"targets" keys:"profile or *" form:"target"`
	Bindings   []BindingSettings          `yaml:"bindings"`
	Approvers  map[string][]string        `yaml:"approvers" keys:"label" form:"target"`
	Notify     []NotifySettings           `yaml:"notify"`
	QuietHours QuietSettings              `yaml:"quiet_hours"`
}

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }

// Check finds channels that lack a setting of their service, and targets that name no channel.
func (m Settings) Check(add config.Add) {
	for _, name := range config.Sorted(m.Channels) {
		c, at := m.Channels[name], config.Under("channels", name)
		service := services.Find(c.KindOf(name))
		if service.Name == "" {
			add(at+".kind", "set it: only a channel that is named like its kind can do without")
		}
		for _, s := range service.Settings {
			switch {
			case !s.Required || c.Own[s.Name] != "":
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
	for _, profile := range config.Sorted(m.Targets) {
		for i, target := range m.Targets[profile] {
			known(config.Indexed(config.Under("targets", profile), i), target)
		}
	}
	for i, b := range m.Bindings {
		known(config.Indexed("bindings", i)+".chat", b.Chat)
	}
	for _, name := range config.Sorted(m.Approvers) {
		for i, target := range m.Approvers[name] {
			at := config.Indexed(config.Under("approvers", name), i)
			if known(at, target); isPattern(target) {
				add(at, "name the chat or the ID of a person: an approver is one person")
			}
		}
	}
	for i, rule := range m.Notify {
		for j, target := range rule.To {
			at := config.Indexed(config.Indexed("notify", i)+".to", j)
			if known(at, target); isPattern(target) {
				add(at, "name one chat: a notice goes to the first that can be reached")
			}
		}
	}
	if q := m.QuietHours; (q.From == "") != (q.To == "") {
		add("quiet_hours", "set both from and to, or neither")
	}
	if _, err := time.LoadLocation(m.QuietHours.Zone); err != nil {
		add("quiet_hours.zone", "there is no time zone %q; write it like Europe/Berlin", m.QuietHours.Zone)
	}
}

// WithChats returns the rules of the policy with the tools and writers of bindings, unless the policy has the chat
// itself. Tools of a topic narrow the calls for it; see package inbound.
func (m Settings) WithChats(r policy.Rules) policy.Rules {
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

// ServiceName is the name of a service of chats.
type ServiceName string

// Words returns the names of all services.
func (ServiceName) Words() []string { return services.Names() }

// ChannelSettings describe an account at a service of chats.
type ChannelSettings struct {
	Kind    ServiceName `yaml:"kind"`
	Own     OwnSettings
	Hosts   []string `yaml:"hosts" form:"hostport"`
	Receive string   `yaml:"receive" enum:"off,pull,hook"`
}

// OwnSettings are the settings that services declare for their channels, by name.
type OwnSettings map[string]string

// Declared returns the settings of all services.
func (OwnSettings) Declared() (all []config.Declaration) {
	for _, s := range services.Settings() {
		all = append(all, config.Declaration{Name: s.Name, Form: s.Form, Doc: services.Doc(s.Name)})
	}
	return all
}

// KindOf returns the kind of a channel with a name.
func (c ChannelSettings) KindOf(name string) string {
	if c.Kind != "" {
		return string(c.Kind)
	}
	return name
}

// BindingSettings say where the messages of a chat go.
type BindingSettings struct {
	Chat    string   `yaml:"chat" form:"target" required:"true"`
	Agent   string   `yaml:"agent" form:"label"`
	User    string   `yaml:"user" form:"label"`
	Team    string   `yaml:"team" form:"label"`
	Session string   `yaml:"session" form:"label"`
	Profile string   `yaml:"profile" form:"profile"`
	Answer  bool     `yaml:"answer"`
	Tools   []string `yaml:"tools" form:"label"`
	Writers []string `yaml:"writers" form:"label"`
}

// NotifySettings are the chats that get notices of events.
type NotifySettings struct {
	Events   []string      `yaml:"events" enum:"task_done,job_failed,approval_open,question_open,budget"`
	To       []string      `yaml:"to" form:"target" required:"true"`
	Agents   []string      `yaml:"agents" form:"label"`
	Debounce time.Duration `yaml:"debounce" min:"0" max:"1d"`
}

// QuietSettings are the hours of a day without notices.
type QuietSettings struct {
	From string `yaml:"from" form:"clock"`
	To   string `yaml:"to" form:"clock"`
	Zone string `yaml:"zone" form:"label"`
}

// anyTarget stands for all chats, or all chats of a channel.
const anyTarget = "*"

// isPattern reports whether a target stands for more than one chat.
func isPattern(target string) bool {
	return target == anyTarget || strings.HasSuffix(target, ":"+anyTarget)
}

//go:embed settings.txt
var texts embed.FS
