package web

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// checkHeaders refuses headers that carry a credential, by their names: a model
// that has one has it from where it should not be, and whoever reads along has it
// then, too.
func checkHeaders(headers map[string]string) error {
	for name := range headers {
		if credential(name) {
			return tool.Errorf(tool.Refused, "the header %q is for a credential", short(name, 60)).
				Try("leave it out, and name in auth_profile one that the operator has set up")
		}
	}
	return nil
}

// credentialWords are in the names of headers that carry a credential.
var credentialWords = []string{"apikey", "accesskey", "subscriptionkey", "token", "secret", "auth", "session", "cookie", "password", "credential"}

// harmless takes out of a name what only looks like one of these words. A token
// against forgery is no credential: a page hands it to whoever reads it, and it
// counts for nothing without a session. What Atlassian calls a token switches
// the check for one off.
var harmless = strings.NewReplacer("csrftoken", "", "xsrftoken", "", "atlassiantoken", "", "authoriz", "auth", "authoris", "auth", "author", "")

// credential reports whether a header carries a credential, by its name.
func credential(name string) bool {
	name = harmless.Replace(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)))
	for _, word := range credentialWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
