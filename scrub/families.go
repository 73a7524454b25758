package scrub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A family is a token format: a prefix, then characters of a class.
type family struct {
	kind      string
	prefix    string
	escaped   string // the prefix as Markdown escapes it
	chars     class
	minLength int
	proof     string // the form of the rest, see familyTable
}

// familyTable has the token formats with a known prefix. A row has the kind, the
// characters after the prefix, their minimum number, a proof, and prefixes. A
// longer prefix comes before a shorter one that it begins with.
//
// The proof distinguishes a token from a name with the same prefix:
//
//	any    the prefix is sufficient
//	edge   no letter or digit comes before the prefix
//	digit  the same, and it has a digit, or changes between small and capital letters
//	mixed  the same as edge, and it looks random, or has 20 letters and digits in a row
//	exact  the same as edge, and exactly the minimum number of letters and digits
//	size   the same as edge, and exactly the minimum number of characters
//	parts  the same as edge, and 40 hexadecimal digits, or these after 16 or after local
const familyTable = `
anthropic_key        token           16 edge  sk-ant-
openai_key           token           16 edge  sk-proj- sk-svcacct- sk-admin- sk-None-
api_key              token           20 edge  sk-or-v1- sk-lf-
openai_key           alnum           20 digit sk-
openai_key           token           20 mixed sk-
groq_key             alnum           20 any   gsk_
perplexity_key       alnum           20 any   pplx-
xai_key              alnum           32 any   xai-
replicate_token      alnum           30 edge  r8_
huggingface_token    alnum           30 digit hf_ api_org_
fireworks_key        alnum           22 mixed fw_
api_key              token           24 mixed nvapi- tgp_v1_ csk- jina_ tvly- lsv2_pt_ lsv2_sk_ e2b_ fc-
api_key              token           24 mixed hcaptcha_ phx_ rnd_
github_token         word            22 any   github_pat_
github_token         token|.         20 any   ghs_
github_token         alnum           20 any   ghp_ gho_ ghu_ ghr_
gitlab_token         token|.         16 any   glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt-
gitlab_token         token|.         16 any   glagent- gloas- glffct- glwt- gltok-
gitlab_token         token           20 any   GR1348941
bitbucket_token      token|=         24 edge  ATBB ATCTT3xFfG
atlassian_token      token|=         24 edge  ATATT3
npm_token            alnum           20 any   npm_
mcp_tools_token      alnum           40 any   mcpt_ mcpr_ mcps_
pypi_token           token           16 any   pypi-AgE
pypi_token           token           40 mixed pypi-
rubygems_token       lowhex          32 any   rubygems_
cargo_token          alnum           32 exact cio
nuget_key            lower|digit     43 exact oy2
docker_token         token           20 any   dckr_pat_ dckr_oat_
clojars_token        alnum           40 any   CLOJARS_
artifactory_key      alnum           59 edge  AKCp cmVmd
sonar_token          hex             40 edge  squ_ sqp_ sqa_
sourcegraph_token    word            40 parts sgp_
ci_token             token           30 edge  bkua_ CCIPAT_ CCIPRJ_
infrastructure_token token|.         30 edge  pul- pnu_ pat. sat.
aws_key              upper|digit     16 any   AKIA
aws_key              upper|digit     16 edge  ASIA ABIA ACCA
aws_key              base64|=        80 edge  ABSK
google_key           token           35 size  AIza
google_secret        token           20 any   GOCSPX-
google_token         token|.         20 edge  ya29.
google_token         token           30 edge  1//0
google_key           token           40 mixed AQ.
digitalocean_token   hex             40 any   dop_v1_ doo_v1_ dor_v1_
heroku_key           token           30 any   HRKU-
fly_token            token           40 edge  fo1_
fly_token            token|+|=       40 edge  fm1r_ fm1a_ fm2_
netlify_token        alnum           30 edge  nfp_ nfc_ nfo_ nfu_ nfb_
vercel_token         word            24 mixed vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_
cloudflare_key       lowhex|-       100 edge  v1.0-
cloudflare_token     token           36 edge  cfut_ cfat_ cfk_
databricks_token     lowhex|-        32 edge  dapi
planetscale_token    token|.|=       30 any   pscale_tkn_ pscale_oauth_ pscale_pw_
supabase_key         token           20 mixed sbp_ sb_secret_
vault_token          token|.         24 edge  hvs. hvb. hvr.
doppler_token        alnum|.         40 edge  dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.
onepassword_token    token|+|=       60 edge  ops_eyJ
onepassword_key      upper|digit|-   29 edge  A3-
age_key              upper|digit     50 any   AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1
alibaba_key          alnum           12 mixed LTAI
tencent_key          alnum           32 exact AKID
clickhouse_key       alnum           38 exact 4b1d
openshift_token      token           43 any   sha256~
tailscale_key        alnum|-         16 any   tskey-
database_key         token           24 mixed mdb_sa_sk_ napi_
wallet_key           alnum          100 edge  xprv
wallet_key           lower|digit     58 exact nsec1
slack_token          alnum|-         20 any   xoxb- xoxa- xoxp- xoxr- xoxs- xoxo- xoxc- xoxe- xoxe.xoxp-
slack_token          alnum|-         20 any   xoxe.xoxb- xapp- xwfp-
slack_token          base64|-|%      10 any   xoxd-
discord_token        token           60 edge  mfa.
twilio_key           lowhex          32 exact SK
sendgrid_key         token|.         40 edge  SG.
mailgun_key          lowhex          32 exact key-
brevo_key            alnum|-         40 any   xkeysib- xsmtpsib-
linear_key           alnum           30 any   lin_api_ lin_oauth_ lin_wh_
notion_token         alnum           46 exact ntn_
notion_token         alnum           43 exact secret_
figma_token          token           20 any   figd_ figu_ figo_
postman_key          hex|-           40 any   PMAK-
newrelic_key         alnum|-         19 edge  NRAK- NRII- NRJS- NRRA-
grafana_token        token|+|=       30 any   glsa_ glc_
grafana_token        base64|=        40 edge  eyJrIjoi
sentry_token         token|+|=       40 any   sntrys_ sntrya_
sentry_token         lowhex          64 exact sntryu_
intra_secret         lowhex          64 exact s-s4t2ud- s-s4t2af-
dynatrace_token      upper|digit|.   60 any   dt0c01. dt0s01. dt0s16.
hubspot_token        alnum|-         30 edge  pat-na1- pat-na2- pat-eu1-
facebook_token       alnum           90 edge  EAAA EAAB EAAC EAAD EAAE EAAF EAAG EAAM
contentful_token     token           40 edge  CFPAT-
frameio_token        token|=         60 any   fio-u-
readme_key           lower|digit     60 edge  rdme_
scalingo_token       token           40 edge  tk-us-
typeform_token       token|.         40 edge  tfp_
octopus_key          upper|digit     26 exact API-
adobe_secret         token           30 edge  p8e-
api_token            alnum           16 edge  sm_aat_ sm_pat_ sm_sat_
mapbox_token         token|.         40 edge  sk.eyJ
stripe_key           alnum           10 edge  sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_
stripe_key           alnum           10 edge  pk_test_
stripe_secret        base64|=        24 any   whsec_
square_token         token           20 any   sq0atp- sq0csp- sq0idp-
square_token         token           60 exact EAAA
braintree_token      word|$          40 any   access_token$production$ access_token$sandbox$
shopify_token        alnum           20 any   shpat_ shpca_ shppa_ shpss_ shptka_
duffel_token         token|=         40 any   duffel_live_ duffel_test_
easypost_key         alnum           54 exact  EZAK EZTK
shippo_token         hex             32 any   shippo_live_ shippo_test_
flutterwave_key      alnum|-         12 any   FLWSECK_TEST- FLWSECK-
plaid_token          lowhex|-        36 edge  access-sandbox- access-development- access-production-
`

// families parses familyTable.
var families = sync.OnceValue(func() (all []family) {
	classes := map[string]class{
		"token": token, "word": word, "base64": base64, "alnum": alnum, "upper": upper, "lower": lower, "hex": anyHex,
		"lowhex": lowHex, "digit": digit, "_": under, "-": dash, ".": dot, "+": plus, "=": equal, "%": percent,
		"$": dollar,
	}
	for line := range strings.Lines(strings.TrimSpace(familyTable)) {
		row := strings.Fields(line)
		f := family{kind: row[0], proof: row[3]}
		for name := range strings.SplitSeq(row[1], "|") {
			if classes[name] == 0 {
				panic(fmt.Sprintf("scrub: %q is not a class", name)) // a test parses the table
			}
			f.chars |= classes[name]
		}
		f.minLength, _ = strconv.Atoi(row[2])
		for _, f.prefix = range row[4:] {
			f.escaped = strings.ReplaceAll(f.prefix, "_", `\_`)
			all = append(all, f)
		}
	}
	return all
})

// triggers returns the triggers of a family for the index.
func (f family) triggers() []trigger {
	if len(f.prefix) < 4 {
		wild := "?"
		if f.chars == lowHex {
			wild = "%"
		}
		all := onPrefix(f.find, f.prefix, wild)
		if len(f.escaped) == 4 {
			all = append(all, on(f.find, 0, f.escaped)...)
		}
		return all
	}
	all := rareWindow(f.find, f.prefix)
	if f.escaped != f.prefix {
		all = append(all, rareWindow(f.find, f.escaped)...)
	}
	return all
}

// rareWindow returns the trigger for the rarest window of a prefix.
func rareWindow(find finder, prefix string) []trigger {
	back := rarest(prefix[:min(len(prefix), 16)])
	return on(find, back, prefix[back:back+4])
}

func (f family) find(t *text, at int) (span, bool) {
	prefix := f.prefix
	if !t.has(at, prefix) {
		if prefix = f.escaped; !t.has(at, prefix) {
			return span{}, false
		}
	}
	start := at + len(prefix)
	end := t.tokenRun(start, f.chars)
	if end-start < f.minLength || !f.proved(t, at, start, end) {
		return span{}, false
	}
	for end > start && f.proof != "size" && (dot | dash).has(t.s[end-1]) {
		end-- // the end of a sentence
	}
	return span{from: at, to: end, kind: f.kind, tail: f.chars}, end-start >= f.minLength
}

func (f family) proved(t *text, at, start, end int) bool {
	rest := strings.ReplaceAll(t.s[start:min(end, start+f.minLength+64)], `\`, "")
	if dull(rest) || t.at(end) == '#' || t.inDigest(at) {
		return false
	}
	glued := at > 0 && digit.has(t.s[at-1]) && strings.ContainsAny(f.prefix, "_-.") // base64 does not have them
	if blankedOut(rest) || f.proof != "any" && !t.edge(at) && !(f.proof == "edge" && glued) {
		return false
	}
	switch f.proof {
	case "mixed":
		return random(rest) || varied(rest) && longest(rest, alnum) >= 20
	case "digit":
		return digit.any(rest) || 3*caseSwitches(rest) >= len(rest)
	case "size":
		return len(rest) == f.minLength && !isSample(f.prefix+rest)
	case "parts":
		head, last, ok := strings.Cut(rest, "_")
		if !ok {
			head, last = "", head
		}
		return len(last) == 40 && anyHex.all(last) &&
			(head == "" || head == "local" || len(head) == 16 && anyHex.all(head))
	case "exact":
		return len(rest) == f.minLength && !word.has(t.at(end)) && varied(rest)
	}
	return true
}

// dull reports whether s is an example: it has few different bytes, or one of them many
// times, or the alphabet, or its last part is words.
func dull(s string) bool {
	var seen [256]bool
	distinct, run := 0, 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			distinct++
		}
		if run++; i == 0 || s[i] != s[i-1] {
			run = 1
		}
		if run == 10 {
			return true
		}
	}
	last := s[strings.LastIndexAny(s, "-_")+1:]
	return len(s) >= 16 && distinct < 4 ||
		strings.HasPrefix(s, "1234-1234-") || strings.HasSuffix(s, "EXAMPLE") || inFold(s, "abcdefghijklm") ||
		len(last) >= 16 && camelCase(last) && 5*caseSwitches(last) <= 2*len(last)
}

// inDigest reports whether the word at a position belongs to a digest in base64 that
// begins before it: sha256=... of Python, sha512-... of npm.
func (t *text) inDigest(at int) bool {
	if at == 0 || !(token | plus).has(t.s[at-1]) {
		return false
	}
	from := t.back(at, token|plus|equal, 120)
	head := t.s[from:at]
	for _, name := range []string{"sha256=", "sha256-", "sha384=", "sha384-", "sha512=", "sha512-"} {
		if strings.HasPrefix(head, name) {
			return true
		}
	}
	return false
}

// isSample reports whether v is a key of public documentation.
func isSample(v string) bool {
	sum := sha256.Sum256([]byte(v))
	return samples.has(hex.EncodeToString(sum[:6]))
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

// samples has the first digits of the SHA-256 of keys that stand in public code on
// purpose: the samples of Firebase.
var samples = newWordSet(`0b476bdf9acf 2037abcaffb2 27a9a42931df 37f8f09bdf12 3a8b61d0f636 3f370c9dd822
	49f777db995e 4c98242dcadc 8731261cb72d a19f89ab3555 a6c814bc555a dc0fcf046c61
	e4a5542bb7fd ea9bb1082cf9 eb540d2b6ee2`)
