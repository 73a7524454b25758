package scrub

// Kinds returns the built-in kinds of secrets, as masks and counters name them.
func Kinds() []string {
	return []string{
		"adobe_secret", "age_key", "airtable_token", "alibaba_key", "anthropic_key", "api_key", "api_token",
		"artifactory_key", "atlassian_token", "authorization", "aws_key", "azure_secret", "basic_auth",
		"bearer_token", "bitbucket_token", "braintree_token", "brevo_key", "cargo_token", "ci_token",
		"clickhouse_key", "clojars_token", "cloudflare_key", "cloudflare_token", "contentful_token", "cookie",
		"database_key", "databricks_token", "digitalocean_token", "discord_token", "docker_token", "doppler_token",
		"duffel_token", "dynatrace_token", "easypost_key", "facebook_token", "figma_token", "fireworks_key",
		"flutterwave_key", "fly_token", "frameio_token", "github_token", "gitlab_token", "google_key",
		"google_secret", "google_token", "grafana_token", "groq_key", "heroku_key", "hex_key", "hubspot_token",
		"huggingface_token", "infracost_key", "infrastructure_token", "jwt", "linear_key", "mailchimp_key",
		"mailgun_key", "mapbox_token", "maxmind_key", "netlify_token", "newrelic_key", "notion_token", "npm_token",
		"nuget_key", "octopus_key", "onepassword_key", "onepassword_token", "openai_key", "openshift_token",
		"password", "password_hash", "perplexity_key", "plaid_token", "planetscale_token", "postman_key",
		"private_key", "pypi_token", "readme_key", "replicate_token", "rubygems_token", "scalingo_token", "secret",
		"sendgrid_key", "sentry_token", "shippo_token", "shopify_token", "slack_token", "sonar_token",
		"sourcegraph_token", "square_token", "stripe_key", "stripe_secret", "supabase_key", "tailscale_key",
		"telegram_token", "tencent_key", "terraform_token", "token", "twilio_key", "typeform_token",
		"url_password", "value", "vault_token", "vercel_token", "wallet_key", "webhook", "xai_key",
	}
}
