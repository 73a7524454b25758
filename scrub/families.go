package scrub

// A family is a kind of token that says what it is: a prefix, then an
// alphabet and a length.
type family struct {
	kind   string
	prefix string
	chars  class
	least  int
	more   proof // what else the rest must be
}

// A proof is what tells a token from a name that begins like one.
type proof byte

const (
	nothing  proof = iota // the prefix is proof enough
	mixed                 // not a name: it looks drawn by lot, or has 20 letters and digits on end
	exact                 // just as long as least, of letters and digits
	detached              // no letter or digit stands before the prefix
)

// families are the token formats known by their prefix, grouped by who
// hands them out. A longer prefix stands before the shorter one it contains.
func families() []family {
	var all []family
	for _, group := range [][]family{modelFamilies(), hostFamilies(), cloudFamilies(), serviceFamilies(), paymentFamilies()} {
		all = append(all, group...)
	}
	return all
}

// each is one family for every prefix.
func each(f family, prefixes ...string) []family {
	out := make([]family, len(prefixes))
	for i, p := range prefixes {
		out[i] = f
		out[i].prefix = p
	}
	return out
}

func join(groups ...[]family) (all []family) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// modelFamilies are the keys of model providers.
func modelFamilies() []family {
	return join(
		each(family{kind: "anthropic_key", chars: token, least: 16, more: detached}, "sk-ant-"),
		each(family{kind: "openai_key", chars: token, least: 16, more: detached}, "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
		each(family{kind: "api_key", chars: token, least: 20, more: detached}, "sk-or-v1-", "sk-lf-"),
		each(family{kind: "openai_key", chars: alnum, least: 20}, "sk-"),
		each(family{kind: "openai_key", chars: token, least: 20, more: mixed}, "sk-"),
		each(family{kind: "groq_key", chars: alnum, least: 20}, "gsk_"),
		each(family{kind: "perplexity_key", chars: alnum, least: 20}, "pplx-"),
		each(family{kind: "xai_key", chars: alnum, least: 32}, "xai-"),
		each(family{kind: "replicate_token", chars: alnum, least: 30, more: detached}, "r8_"),
		each(family{kind: "huggingface_token", chars: alnum, least: 30, more: detached}, "hf_", "api_org_"),
		each(family{kind: "fireworks_key", chars: alnum, least: 22, more: mixed}, "fw_"),
		each(family{kind: "api_key", chars: token, least: 24, more: mixed},
			"nvapi-", "tgp_v1_", "csk-", "jina_", "tvly-", "lsv2_pt_", "lsv2_sk_", "e2b_", "fc-", "hcaptcha_", "phx_", "rnd_"),
	)
}

// hostFamilies are the tokens of code hosts, package registries and builders.
func hostFamilies() []family {
	return join(
		each(family{kind: "github_token", chars: word, least: 22}, "github_pat_"),
		each(family{kind: "github_token", chars: token | dot, least: 20}, "ghs_"),
		each(family{kind: "github_token", chars: alnum, least: 20}, "ghp_", "gho_", "ghu_", "ghr_"),
		each(family{kind: "gitlab_token", chars: token | dot, least: 16}, "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-",
			"glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-", "glwt-", "gltok-"),
		each(family{kind: "gitlab_token", chars: token, least: 20}, "GR1348941"),
		each(family{kind: "bitbucket_token", chars: token | equal, least: 24, more: detached}, "ATBB", "ATCTT3xFfG"),
		each(family{kind: "atlassian_token", chars: token | equal, least: 24, more: detached}, "ATATT3"),
		each(family{kind: "npm_token", chars: alnum, least: 20}, "npm_"),
		each(family{kind: "pypi_token", chars: token, least: 16}, "pypi-AgE"),
		each(family{kind: "pypi_token", chars: token, least: 40, more: mixed}, "pypi-"),
		each(family{kind: "rubygems_token", chars: lowHex, least: 32}, "rubygems_"),
		each(family{kind: "cargo_token", chars: alnum, least: 32, more: exact}, "cio"),
		each(family{kind: "nuget_key", chars: lower | digit, least: 43, more: exact}, "oy2"),
		each(family{kind: "docker_token", chars: token, least: 20}, "dckr_pat_", "dckr_oat_"),
		each(family{kind: "clojars_token", chars: alnum, least: 40}, "CLOJARS_"),
		each(family{kind: "artifactory_key", chars: alnum, least: 59, more: detached}, "AKCp", "cmVmd"),
		each(family{kind: "sonar_token", chars: anyHex, least: 40, more: detached}, "squ_", "sqp_", "sqa_"),
		each(family{kind: "sourcegraph_token", chars: word, least: 40, more: detached}, "sgp_"),
		each(family{kind: "ci_token", chars: token, least: 30, more: detached}, "bkua_", "CCIPAT_", "CCIPRJ_"),
		each(family{kind: "infrastructure_token", chars: token | dot, least: 30, more: detached}, "pul-", "pnu_", "pat.", "sat."),
	)
}

// cloudFamilies are the keys of clouds, platforms and databases.
func cloudFamilies() []family {
	return join(
		each(family{kind: "aws_key", chars: upper | digit, least: 16}, "AKIA"),
		each(family{kind: "aws_key", chars: upper | digit, least: 16, more: detached}, "ASIA", "ABIA", "ACCA"),
		each(family{kind: "aws_key", chars: base64 | equal, least: 80, more: detached}, "ABSK"),
		each(family{kind: "google_key", chars: token, least: 30, more: detached}, "AIza"),
		each(family{kind: "google_secret", chars: token, least: 20}, "GOCSPX-"),
		each(family{kind: "google_token", chars: token | dot, least: 20, more: detached}, "ya29."),
		each(family{kind: "google_token", chars: token, least: 30, more: detached}, "1//0"),
		each(family{kind: "google_key", chars: token, least: 40, more: mixed}, "AQ."),
		each(family{kind: "digitalocean_token", chars: anyHex, least: 40}, "dop_v1_", "doo_v1_", "dor_v1_"),
		each(family{kind: "heroku_key", chars: token, least: 30}, "HRKU-"),
		each(family{kind: "fly_token", chars: token, least: 40, more: detached}, "fo1_"),
		each(family{kind: "fly_token", chars: base64 | equal | token, least: 40, more: detached}, "fm1r_", "fm1a_", "fm2_"),
		each(family{kind: "netlify_token", chars: alnum, least: 30, more: detached}, "nfp_", "nfc_", "nfo_", "nfu_", "nfb_"),
		each(family{kind: "vercel_token", chars: word, least: 24, more: mixed}, "vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"),
		each(family{kind: "cloudflare_key", chars: lowHex | dash, least: 100, more: detached}, "v1.0-"),
		each(family{kind: "cloudflare_token", chars: token, least: 36, more: detached}, "cfut_", "cfat_", "cfk_"),
		each(family{kind: "databricks_token", chars: lowHex | dash, least: 32, more: detached}, "dapi"),
		each(family{kind: "planetscale_token", chars: token | dot | equal, least: 30}, "pscale_tkn_", "pscale_oauth_", "pscale_pw_"),
		each(family{kind: "supabase_key", chars: token, least: 20, more: mixed}, "sbp_", "sb_secret_"),
		each(family{kind: "vault_token", chars: token | dot, least: 24, more: detached}, "hvs.", "hvb.", "hvr."),
		each(family{kind: "doppler_token", chars: alnum | dot, least: 40, more: detached},
			"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
		each(family{kind: "onepassword_token", chars: base64 | equal | token, least: 60, more: detached}, "ops_eyJ"),
		each(family{kind: "onepassword_key", chars: upper | digit | dash, least: 29, more: mixed}, "A3-"),
		each(family{kind: "age_key", chars: upper | digit, least: 50}, "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"),
		each(family{kind: "alibaba_key", chars: alnum, least: 12, more: mixed}, "LTAI"),
		each(family{kind: "tencent_key", chars: alnum, least: 32, more: exact}, "AKID"),
		each(family{kind: "clickhouse_key", chars: alnum, least: 38, more: exact}, "4b1d"),
		each(family{kind: "openshift_token", chars: token, least: 43}, "sha256~"),
		each(family{kind: "tailscale_key", chars: alnum | dash, least: 16}, "tskey-"),
		each(family{kind: "database_key", chars: token, least: 24, more: mixed}, "mdb_sa_sk_", "napi_"),
		each(family{kind: "wallet_key", chars: alnum, least: 100, more: detached}, "xprv"),
		each(family{kind: "wallet_key", chars: lower | digit, least: 58, more: exact}, "nsec1"),
	)
}

// serviceFamilies are the tokens of chat, mail, design, project and
// monitoring services.
func serviceFamilies() []family {
	return join(
		each(family{kind: "slack_token", chars: alnum | dash, least: 10},
			"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-", "xapp-", "xwfp-"),
		each(family{kind: "slack_token", chars: alnum | dash | percent | plus, least: 10}, "xoxd-"),
		each(family{kind: "discord_token", chars: token, least: 60, more: detached}, "mfa."),
		each(family{kind: "twilio_key", chars: lowHex, least: 32, more: exact}, "SK"),
		each(family{kind: "sendgrid_key", chars: token | dot, least: 40, more: detached}, "SG."),
		each(family{kind: "mailgun_key", chars: lowHex, least: 32, more: exact}, "key-"),
		each(family{kind: "brevo_key", chars: alnum | dash, least: 40}, "xkeysib-", "xsmtpsib-"),
		each(family{kind: "linear_key", chars: alnum, least: 30}, "lin_api_", "lin_oauth_", "lin_wh_"),
		each(family{kind: "notion_token", chars: alnum, least: 40, more: detached}, "ntn_"),
		each(family{kind: "notion_token", chars: alnum, least: 43, more: exact}, "secret_"),
		each(family{kind: "figma_token", chars: token, least: 20}, "figd_", "figu_", "figo_"),
		each(family{kind: "postman_key", chars: anyHex | dash, least: 40}, "PMAK-"),
		each(family{kind: "newrelic_key", chars: alnum | dash, least: 19, more: detached}, "NRAK-", "NRII-", "NRJS-", "NRRA-"),
		each(family{kind: "grafana_token", chars: base64 | equal | token, least: 30}, "glsa_", "glc_"),
		each(family{kind: "grafana_token", chars: base64 | equal, least: 40, more: detached}, "eyJrIjoi"),
		each(family{kind: "sentry_token", chars: base64 | equal | token, least: 40}, "sntrys_", "sntryu_", "sntrya_"),
		each(family{kind: "dynatrace_token", chars: upper | digit | dot, least: 60}, "dt0c01.", "dt0s01.", "dt0s16."),
		each(family{kind: "hubspot_token", chars: alnum | dash, least: 30, more: detached}, "pat-na1-", "pat-na2-", "pat-eu1-"),
		each(family{kind: "facebook_token", chars: alnum, least: 90, more: detached}, "EAAA", "EAAB", "EAAC", "EAAD", "EAAE", "EAAF", "EAAG", "EAAM"),
		each(family{kind: "contentful_token", chars: token, least: 40, more: detached}, "CFPAT-"),
		each(family{kind: "frameio_token", chars: token | equal, least: 60}, "fio-u-"),
		each(family{kind: "readme_key", chars: lower | digit, least: 60, more: detached}, "rdme_"),
		each(family{kind: "scalingo_token", chars: token, least: 40, more: detached}, "tk-us-"),
		each(family{kind: "typeform_token", chars: token | dot, least: 40, more: detached}, "tfp_"),
		each(family{kind: "octopus_key", chars: upper | digit, least: 26, more: exact}, "API-"),
		each(family{kind: "infracost_key", chars: alnum, least: 32, more: exact}, "ico-"),
		each(family{kind: "adobe_secret", chars: token, least: 30, more: detached}, "p8e-"),
		each(family{kind: "api_token", chars: alnum, least: 16, more: detached}, "sm_aat_", "sm_pat_", "sm_sat_"),
		each(family{kind: "mapbox_token", chars: token | dot, least: 40, more: detached}, "sk.eyJ"),
	)
}

// paymentFamilies are the keys of payment, shop and parcel services.
func paymentFamilies() []family {
	return join(
		each(family{kind: "stripe_key", chars: alnum, least: 10},
			"sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "pk_live_", "pk_test_"),
		each(family{kind: "stripe_secret", chars: base64 | equal, least: 24}, "whsec_"),
		each(family{kind: "square_token", chars: token, least: 20}, "sq0atp-", "sq0csp-", "sq0idp-"),
		each(family{kind: "square_token", chars: token, least: 60, more: exact}, "EAAA"),
		each(family{kind: "braintree_token", chars: alnum | under | dollar, least: 40}, "access_token$production$", "access_token$sandbox$"),
		each(family{kind: "shopify_token", chars: alnum, least: 20}, "shpat_", "shpca_", "shppa_", "shpss_", "shptka_"),
		each(family{kind: "duffel_token", chars: token | equal, least: 40}, "duffel_live_", "duffel_test_"),
		each(family{kind: "easypost_key", chars: alnum, least: 50, more: detached}, "EZAK", "EZTK"),
		each(family{kind: "shippo_token", chars: anyHex, least: 32}, "shippo_live_", "shippo_test_"),
		each(family{kind: "flutterwave_key", chars: alnum | dash, least: 12}, "FLWSECK_TEST-", "FLWSECK-"),
		each(family{kind: "plaid_token", chars: lowHex | dash, least: 36, more: detached},
			"access-sandbox-", "access-development-", "access-production-"),
	)
}
