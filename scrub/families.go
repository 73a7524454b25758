package scrub

import (
	"strings"
)

// A family is a token format: a prefix, then characters of a class.
type family struct {
	kind      string
	prefix    string
	chars     class
	minLength int
	extra     proof // what the rest must look like
}

// A proof is a condition that distinguishes a token from a name with the same prefix.
type proof byte

const (
	noProof proof = iota // the prefix is sufficient
	mixed                // it looks random, or has 20 letters and digits in a row
	exact                // exactly minLength letters and digits
	atEdge               // no letter or digit before the prefix
)

// families returns the token formats with a known prefix, grouped by issuer. A
// longer prefix comes before a shorter one that it begins with.
func families() []family {
	var all []family
	for _, group := range [][]family{modelFamilies(), hostFamilies(), cloudFamilies(), serviceFamilies(),
		paymentFamilies()} {
		all = append(all, group...)
	}
	return all
}

// each returns one family for each prefix.
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

// modelFamilies returns the keys of model providers.
func modelFamilies() []family {
	return join(
		each(family{kind: "anthropic_key", chars: token, minLength: 16, extra: atEdge}, "sk-ant-"),
		each(family{kind: "openai_key", chars: token, minLength: 16, extra: atEdge}, "sk-proj-", "sk-svcacct-",
			"sk-admin-", "sk-None-"),
		each(family{kind: "api_key", chars: token, minLength: 20, extra: atEdge}, "sk-or-v1-", "sk-lf-"),
		each(family{kind: "openai_key", chars: alnum, minLength: 20}, "sk-"),
		each(family{kind: "openai_key", chars: token, minLength: 20, extra: mixed}, "sk-"),
		each(family{kind: "groq_key", chars: alnum, minLength: 20}, "gsk_"),
		each(family{kind: "perplexity_key", chars: alnum, minLength: 20}, "pplx-"),
		each(family{kind: "xai_key", chars: alnum, minLength: 32}, "xai-"),
		each(family{kind: "replicate_token", chars: alnum, minLength: 30, extra: atEdge}, "r8_"),
		each(family{kind: "huggingface_token", chars: alnum, minLength: 30, extra: atEdge}, "hf_", "api_org_"),
		each(family{kind: "fireworks_key", chars: alnum, minLength: 22, extra: mixed}, "fw_"),
		each(family{kind: "api_key", chars: token, minLength: 24, extra: mixed},
			"nvapi-", "tgp_v1_", "csk-", "jina_", "tvly-", "lsv2_pt_", "lsv2_sk_", "e2b_", "fc-", "hcaptcha_", "phx_",
			"rnd_"),
	)
}

// hostFamilies returns the tokens of code hosts, package registries and builders.
func hostFamilies() []family {
	return join(
		each(family{kind: "github_token", chars: word, minLength: 22}, "github_pat_"),
		each(family{kind: "github_token", chars: token | dot, minLength: 20}, "ghs_"),
		each(family{kind: "github_token", chars: alnum, minLength: 20}, "ghp_", "gho_", "ghu_", "ghr_"),
		each(family{kind: "gitlab_token", chars: token | dot, minLength: 16}, "glpat-", "gldt-", "glrt-", "glrtr-",
			"glcbt-", "glptt-",
			"glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-", "glwt-", "gltok-"),
		each(family{kind: "gitlab_token", chars: token, minLength: 20}, "GR1348941"),
		each(family{kind: "bitbucket_token", chars: token | equal, minLength: 24, extra: atEdge}, "ATBB", "ATCTT3xFfG"),
		each(family{kind: "atlassian_token", chars: token | equal, minLength: 24, extra: atEdge}, "ATATT3"),
		each(family{kind: "npm_token", chars: alnum, minLength: 20}, "npm_"),
		each(family{kind: "pypi_token", chars: token, minLength: 16}, "pypi-AgE"),
		each(family{kind: "pypi_token", chars: token, minLength: 40, extra: mixed}, "pypi-"),
		each(family{kind: "rubygems_token", chars: lowHex, minLength: 32}, "rubygems_"),
		each(family{kind: "cargo_token", chars: alnum, minLength: 32, extra: exact}, "cio"),
		each(family{kind: "nuget_key", chars: lower | digit, minLength: 43, extra: exact}, "oy2"),
		each(family{kind: "docker_token", chars: token, minLength: 20}, "dckr_pat_", "dckr_oat_"),
		each(family{kind: "clojars_token", chars: alnum, minLength: 40}, "CLOJARS_"),
		each(family{kind: "artifactory_key", chars: alnum, minLength: 59, extra: atEdge}, "AKCp", "cmVmd"),
		each(family{kind: "sonar_token", chars: anyHex, minLength: 40, extra: atEdge}, "squ_", "sqp_", "sqa_"),
		each(family{kind: "sourcegraph_token", chars: word, minLength: 40, extra: atEdge}, "sgp_"),
		each(family{kind: "ci_token", chars: token, minLength: 30, extra: atEdge}, "bkua_", "CCIPAT_", "CCIPRJ_"),
		each(family{kind: "infrastructure_token", chars: token | dot, minLength: 30, extra: atEdge}, "pul-", "pnu_",
			"pat.", "sat."),
	)
}

// cloudFamilies returns the keys of clouds, platforms and databases.
func cloudFamilies() []family {
	return join(
		each(family{kind: "aws_key", chars: upper | digit, minLength: 16}, "AKIA"),
		each(family{kind: "aws_key", chars: upper | digit, minLength: 16, extra: atEdge}, "ASIA", "ABIA", "ACCA"),
		each(family{kind: "aws_key", chars: base64 | equal, minLength: 80, extra: atEdge}, "ABSK"),
		each(family{kind: "google_key", chars: token, minLength: 30, extra: atEdge}, "AIza"),
		each(family{kind: "google_secret", chars: token, minLength: 20}, "GOCSPX-"),
		each(family{kind: "google_token", chars: token | dot, minLength: 20, extra: atEdge}, "ya29."),
		each(family{kind: "google_token", chars: token, minLength: 30, extra: atEdge}, "1//0"),
		each(family{kind: "google_key", chars: token, minLength: 40, extra: mixed}, "AQ."),
		each(family{kind: "digitalocean_token", chars: anyHex, minLength: 40}, "dop_v1_", "doo_v1_", "dor_v1_"),
		each(family{kind: "heroku_key", chars: token, minLength: 30}, "HRKU-"),
		each(family{kind: "fly_token", chars: token, minLength: 40, extra: atEdge}, "fo1_"),
		each(family{kind: "fly_token", chars: base64 | equal | token, minLength: 40, extra: atEdge}, "fm1r_", "fm1a_",
			"fm2_"),
		each(family{kind: "netlify_token", chars: alnum, minLength: 30, extra: atEdge}, "nfp_", "nfc_", "nfo_", "nfu_",
			"nfb_"),
		each(family{kind: "vercel_token", chars: word, minLength: 24, extra: mixed}, "vcp_", "vci_", "vca_", "vcr_",
			"vck_", "vercel_blob_rw_"),
		each(family{kind: "cloudflare_key", chars: lowHex | dash, minLength: 100, extra: atEdge}, "v1.0-"),
		each(family{kind: "cloudflare_token", chars: token, minLength: 36, extra: atEdge}, "cfut_", "cfat_", "cfk_"),
		each(family{kind: "databricks_token", chars: lowHex | dash, minLength: 32, extra: atEdge}, "dapi"),
		each(family{kind: "planetscale_token", chars: token | dot | equal, minLength: 30}, "pscale_tkn_",
			"pscale_oauth_", "pscale_pw_"),
		each(family{kind: "supabase_key", chars: token, minLength: 20, extra: mixed}, "sbp_", "sb_secret_"),
		each(family{kind: "vault_token", chars: token | dot, minLength: 24, extra: atEdge}, "hvs.", "hvb.", "hvr."),
		each(family{kind: "doppler_token", chars: alnum | dot, minLength: 40, extra: atEdge},
			"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
		each(family{kind: "onepassword_token", chars: base64 | equal | token, minLength: 60, extra: atEdge}, "ops_eyJ"),
		each(family{kind: "onepassword_key", chars: upper | digit | dash, minLength: 29, extra: mixed}, "A3-"),
		each(family{kind: "age_key", chars: upper | digit, minLength: 50}, "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"),
		each(family{kind: "alibaba_key", chars: alnum, minLength: 12, extra: mixed}, "LTAI"),
		each(family{kind: "tencent_key", chars: alnum, minLength: 32, extra: exact}, "AKID"),
		each(family{kind: "clickhouse_key", chars: alnum, minLength: 38, extra: exact}, "4b1d"),
		each(family{kind: "openshift_token", chars: token, minLength: 43}, "sha256~"),
		each(family{kind: "tailscale_key", chars: alnum | dash, minLength: 16}, "tskey-"),
		each(family{kind: "database_key", chars: token, minLength: 24, extra: mixed}, "mdb_sa_sk_", "napi_"),
		each(family{kind: "wallet_key", chars: alnum, minLength: 100, extra: atEdge}, "xprv"),
		each(family{kind: "wallet_key", chars: lower | digit, minLength: 58, extra: exact}, "nsec1"),
	)
}

// serviceFamilies returns the tokens of chat, mail, design, project and
// monitoring services.
func serviceFamilies() []family {
	return join(
		each(family{kind: "slack_token", chars: alnum | dash, minLength: 10},
			"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-", "xapp-",
			"xwfp-"),
		each(family{kind: "slack_token", chars: alnum | dash | percent | plus, minLength: 10}, "xoxd-"),
		each(family{kind: "discord_token", chars: token, minLength: 60, extra: atEdge}, "mfa."),
		each(family{kind: "twilio_key", chars: lowHex, minLength: 32, extra: exact}, "SK"),
		each(family{kind: "sendgrid_key", chars: token | dot, minLength: 40, extra: atEdge}, "SG."),
		each(family{kind: "mailgun_key", chars: lowHex, minLength: 32, extra: exact}, "key-"),
		each(family{kind: "brevo_key", chars: alnum | dash, minLength: 40}, "xkeysib-", "xsmtpsib-"),
		each(family{kind: "linear_key", chars: alnum, minLength: 30}, "lin_api_", "lin_oauth_", "lin_wh_"),
		each(family{kind: "notion_token", chars: alnum, minLength: 40, extra: atEdge}, "ntn_"),
		each(family{kind: "notion_token", chars: alnum, minLength: 43, extra: exact}, "secret_"),
		each(family{kind: "figma_token", chars: token, minLength: 20}, "figd_", "figu_", "figo_"),
		each(family{kind: "postman_key", chars: anyHex | dash, minLength: 40}, "PMAK-"),
		each(family{kind: "newrelic_key", chars: alnum | dash, minLength: 19, extra: atEdge}, "NRAK-", "NRII-", "NRJS-",
			"NRRA-"),
		each(family{kind: "grafana_token", chars: base64 | equal | token, minLength: 30}, "glsa_", "glc_"),
		each(family{kind: "grafana_token", chars: base64 | equal, minLength: 40, extra: atEdge}, "eyJrIjoi"),
		each(family{kind: "sentry_token", chars: base64 | equal | token, minLength: 40}, "sntrys_", "sntryu_",
			"sntrya_"),
		each(family{kind: "dynatrace_token", chars: upper | digit | dot, minLength: 60}, "dt0c01.", "dt0s01.",
			"dt0s16."),
		each(family{kind: "hubspot_token", chars: alnum | dash, minLength: 30, extra: atEdge}, "pat-na1-", "pat-na2-",
			"pat-eu1-"),
		each(family{kind: "facebook_token", chars: alnum, minLength: 90, extra: atEdge}, "EAAA", "EAAB", "EAAC", "EAAD",
			"EAAE", "EAAF", "EAAG", "EAAM"),
		each(family{kind: "contentful_token", chars: token, minLength: 40, extra: atEdge}, "CFPAT-"),
		each(family{kind: "frameio_token", chars: token | equal, minLength: 60}, "fio-u-"),
		each(family{kind: "readme_key", chars: lower | digit, minLength: 60, extra: atEdge}, "rdme_"),
		each(family{kind: "scalingo_token", chars: token, minLength: 40, extra: atEdge}, "tk-us-"),
		each(family{kind: "typeform_token", chars: token | dot, minLength: 40, extra: atEdge}, "tfp_"),
		each(family{kind: "octopus_key", chars: upper | digit, minLength: 26, extra: exact}, "API-"),
		each(family{kind: "infracost_key", chars: alnum, minLength: 32, extra: exact}, "ico-"),
		each(family{kind: "adobe_secret", chars: token, minLength: 30, extra: atEdge}, "p8e-"),
		each(family{kind: "api_token", chars: alnum, minLength: 16, extra: atEdge}, "sm_aat_", "sm_pat_", "sm_sat_"),
		each(family{kind: "mapbox_token", chars: token | dot, minLength: 40, extra: atEdge}, "sk.eyJ"),
	)
}

// paymentFamilies returns the keys of payment, shop and parcel services.
func paymentFamilies() []family {
	return join(
		each(family{kind: "stripe_key", chars: alnum, minLength: 10},
			"sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "pk_live_", "pk_test_"),
		each(family{kind: "stripe_secret", chars: base64 | equal, minLength: 24}, "whsec_"),
		each(family{kind: "square_token", chars: token, minLength: 20}, "sq0atp-", "sq0csp-", "sq0idp-"),
		each(family{kind: "square_token", chars: token, minLength: 60, extra: exact}, "EAAA"),
		each(family{kind: "braintree_token", chars: alnum | under | dollar, minLength: 40}, "access_token$production$",
			"access_token$sandbox$"),
		each(family{kind: "shopify_token", chars: alnum, minLength: 20}, "shpat_", "shpca_", "shppa_", "shpss_",
			"shptka_"),
		each(family{kind: "duffel_token", chars: token | equal, minLength: 40}, "duffel_live_", "duffel_test_"),
		each(family{kind: "easypost_key", chars: alnum, minLength: 50, extra: atEdge}, "EZAK", "EZTK"),
		each(family{kind: "shippo_token", chars: anyHex, minLength: 32}, "shippo_live_", "shippo_test_"),
		each(family{kind: "flutterwave_key", chars: alnum | dash, minLength: 12}, "FLWSECK_TEST-", "FLWSECK-"),
		each(family{kind: "plaid_token", chars: lowHex | dash, minLength: 36, extra: atEdge},
			"access-sandbox-", "access-development-", "access-production-"),
	)
}

// triggers returns the triggers of a family for the index.
func (f family) triggers() []trigger {
	if len(f.prefix) < 4 {
		if f.chars == lowHex {
			return onPrefix(f.find, f.prefix, "%")
		}
		return onPrefix(f.find, f.prefix, "?")
	}
	back := rarest(f.prefix[:min(len(f.prefix), 16)])
	return on(f.find, back, f.prefix[back:back+4])
}

func (f family) find(t *text, at int) (span, bool) {
	if !t.has(at, f.prefix) {
		return span{}, false
	}
	start := at + len(f.prefix)
	end := t.runMax(start, f.chars, f.minLength+64)
	if end-start < f.minLength || !f.proved(t, at, start, end) {
		return span{}, false
	}
	end = t.run(end, f.chars)
	for end > start && (dot | dash).has(t.s[end-1]) {
		end-- // the end of a sentence
	}
	return span{from: at, to: end, kind: f.kind, tail: f.chars}, end-start >= f.minLength
}

func (f family) proved(t *text, at, start, end int) bool {
	rest := t.s[start:end]
	if blankedOut(rest) || f.extra != noProof && !t.edge(at) {
		return false
	}
	switch f.extra {
	case mixed:
		return random(rest) || varied(rest) && longest(rest, alnum) >= 20
	case exact:
		return len(rest) == f.minLength && !word.has(t.at(end)) && varied(rest)
	}
	return true
}

// varied reports whether s has letters, digits or both cases, and six different bytes.
func varied(s string) bool {
	var seen [256]bool
	distinct := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			distinct++
		}
	}
	return distinct >= 6 && letter.any(s) && (digit.any(s) || mixedCase(s))
}

// longest returns the length of the longest run of bytes of c in s.
func longest(s string, c class) (most int) {
	n := 0
	for i := range len(s) {
		if n++; !c.has(s[i]) {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// blankedOut reports whether a secret is already hidden, as in xxxx, **** or ....
func blankedOut(s string) bool {
	return strings.Trim(s, "xX*.-_") == "" || strings.Contains(s, "xxxxxxxx") || strings.Contains(s, "XXXXXXXX")
}

// random reports whether s looks random: it changes between digits, small and
// capital letters more often than names do.
func random(s string) bool {
	if len(s) < 12 {
		return false
	}
	var seen [256]bool
	distinct, changes, figures, big, small := 0, 0, 0, false, false
	var before, last class
	for i := range len(s) {
		b := s[i]
		if !seen[b] {
			seen[b] = true
			distinct++
		}
		k := caseOf(b)
		switch k {
		case digit:
			figures++
		case upper:
			big = true
		case lower:
			small = true
		}
		if k != 0 && last != 0 && k != last && (last != upper || k != lower || before == upper) {
			changes++ // a capital at the beginning of a word does not count
		}
		before, last = last, k
	}
	return distinct >= 8 && 4*changes >= len(s) && (figures > 0 || big && small)
}

func caseOf(b byte) class {
	switch k := kinds[b]; {
	case k&digit != 0:
		return digit
	case k&lower != 0:
		return lower
	case k&upper != 0:
		return upper
	}
	return 0
}
