// Package services lists the services of chats. A new service is a package beside this
// one, and one line in [All].
package services

import (
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/discord"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/lark"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/line"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/mail"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/ntfy"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/slack"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/telegram"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/webhook"
)

// All returns the services, in the order of the documentation.
func All() []chat.Service {
	return []chat.Service{
		telegram.Service(), slack.Service(), discord.Service(), line.Service(), lark.Service(), mail.Service(),
		webhook.Service(), ntfy.Service(),
	}
}

// Find returns the service with a name. It has no name if there is none.
func Find(name string) chat.Service {
	for _, s := range All() {
		if s.Name == name {
			return s
		}
	}
	return chat.Service{}
}

// Names returns the names of all services.
func Names() (names []string) {
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Words returns all names of all services, for searches.
func Words() string {
	var words []string
	for _, s := range All() {
		words = append(append(words, s.Name), s.Also...)
	}
	return strings.Join(words, " ")
}

// Settings returns the settings that services have for their channels, each name once.
func Settings() (all []chat.Setting) {
	for _, service := range All() {
		for _, s := range service.Settings {
			if !slices.ContainsFunc(all, func(known chat.Setting) bool { return known.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Form returns the form of a setting of channels, "" if no service has it.
func Form(setting string) string {
	for _, s := range Settings() {
		if s.Name == setting {
			return s.Form
		}
	}
	return ""
}

// Doc returns the uses of a setting of channels by the services.
func Doc(setting string) string {
	var uses []string
	var titles [][]string
	for _, service := range All() {
		for _, s := range service.Settings {
			if s.Name != setting {
				continue
			}
			last := len(uses) - 1
			if last >= 0 && uses[last] == s.Doc {
				titles[last] = append(titles[last], service.Title)
				continue
			}
			uses, titles = append(uses, s.Doc), append(titles, []string{service.Title})
		}
	}
	for i, use := range uses {
		uses[i] = strings.Join(titles[i], ", ") + ": " + use + "."
	}
	return strings.Join(uses, " ")
}
