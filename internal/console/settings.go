package console

import (
	"embed"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
)

// Settings are the settings of the console that the server serves. The one of mcp-tools ui needs none.
type Settings struct {
	Listen string `yaml:"listen" form:"address"`
	URL    string `yaml:"url" form:"url"`
	Login  Login  `yaml:"login"`
}

// Login are the settings of the OpenID provider for logins.
type Login struct {
	Issuer       string        `yaml:"issuer" form:"url"`
	ClientID     string        `yaml:"client_id"`
	ClientSecret config.Secret `yaml:"client_secret" form:"secret"`
	Scopes       []string      `yaml:"scopes"`
	Claim        string        `yaml:"claim" default:"roles"`
	Operators    []string      `yaml:"operators"`
	Approvers    []string      `yaml:"approvers"`
}

// Check finds a URL without a listener.
func (s Settings) Check(add config.Add) {
	if s.URL != "" && s.Listen == "" {
		add("url", "it has no effect without console.listen")
	}
	switch l := s.Login; {
	case l.Issuer == "":
	case s.Listen == "" || s.URL == "":
		add("login", "it needs console.listen, and console.url as the address to which the provider sends people back")
	case l.ClientID == "":
		add("login.client_id", "it is missing")
	case len(l.Operators) == 0 && len(l.Approvers) == 0:
		add("login", "nobody has a role; name some in operators or approvers")
	case strings.HasPrefix(l.Issuer, "http://") && !isLoopback(l.Issuer):
		add("login.issuer", "it must begin with https")
	}
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && netaddr.IsLoopback(u.Hostname())
}
