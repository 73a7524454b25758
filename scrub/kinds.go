package scrub

import (
	"slices"
	"strings"
)

// Kinds returns the built-in kinds of secrets, as counters name them.
func Kinds() []string {
	kinds := strings.Fields(`airtable_token api_key authorization azure_secret basic_auth bearer_token cookie
		discord_token docker_token hex_key jwt mailchimp_key maxmind_key password password_hash private_key secret
		telegram_token terraform_token token url_password value webhook`)
	for _, f := range families() {
		kinds = append(kinds, f.kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
