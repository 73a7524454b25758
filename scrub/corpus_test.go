package scrub

import (
	b64 "encoding/base64"
	"math/rand/v2"
	"strings"
)

// Secrets are drawn when the tests run: no scanner shall find one here.

const (
	figures  = "0123456789"
	smalls   = "abcdefghijklmnopqrstuvwxyz"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnums   = smalls + capitals + figures
	hexes    = figures + "abcdef"
	tokens   = alnums + "_-"
)

// draw is n signs of an alphabet, of which no two neighbours are - or _, and
// none at either end: a sign at the end could be the end of a sentence.
func draw(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		for {
			b[i] = alphabet[r.IntN(len(alphabet))]
			if alnum.has(b[i]) || i > 0 && i < n-1 && alnum.has(b[i-1]) {
				break
			}
		}
	}
	return string(b)
}

// A kind draws one kind of secret.
type kindOfSecret struct {
	name string
	draw func(r *rand.Rand) string
}

// pre is a kind that is a prefix and n signs. The prefix is given in two
// pieces.
func pre(a, b, alphabet string, n int) kindOfSecret {
	return kindOfSecret{a + b, func(r *rand.Rand) string { return a + b + draw(r, alphabet, n) }}
}

func secretKinds() []kindOfSecret {
	var all []kindOfSecret
	for _, g := range [][]kindOfSecret{modelKinds(), forgeKinds(), cloudKinds(), serviceKinds(), builtKinds()} {
		all = append(all, g...)
	}
	return all
}

func modelKinds() []kindOfSecret {
	return []kindOfSecret{
		pre("s", "k-", alnums, 20), pre("s", "k-", alnums, 48), pre("s", "k-", hexes, 32),
		pre("sk-", "ant-", alnums, 20),
		pre("sk-ant-", "api03-", tokens, 93), pre("sk-", "proj-", tokens, 120), pre("sk-", "svcacct-", tokens, 80),
		pre("sk-", "admin-", tokens, 80), pre("sk-or-", "v1-", hexes, 64), pre("gs", "k_", alnums, 52),
		pre("pp", "lx-", alnums, 48),
		pre("xa", "i-", alnums, 80), pre("r", "8_", alnums, 37), pre("h", "f_", alnums, 34),
		pre("nv", "api-", tokens, 64),
	}
}

func forgeKinds() []kindOfSecret {
	return []kindOfSecret{
		pre("gh", "p_", alnums, 36), pre("gh", "o_", alnums, 36), pre("gh", "u_", alnums, 36),
		pre("gh", "s_", alnums, 36),
		pre("gh", "r_", alnums, 76), pre("github", "_pat_", alnums+"_", 82), pre("gl", "pat-", tokens, 20),
		pre("gl", "dt-", tokens, 20),
		pre("gl", "rt-", tokens, 20), pre("gl", "cbt-", tokens, 24), pre("gl", "ptt-", hexes, 40),
		pre("gl", "soat-", tokens, 20),
		pre("GR13", "48941", tokens, 20), pre("AT", "BB", alnums, 32), pre("AT", "ATT3xFfGF0", tokens, 170),
		pre("np", "m_", alnums, 36),
		pre("py", "pi-AgEIcHlwaS5vcmc", tokens, 90), pre("ruby", "gems_", hexes, 48), pre("ci", "o", alnums, 32),
		pre("oy", "2", smalls+figures, 43), pre("dckr", "_pat_", tokens, 27), pre("s", "qp_", hexes, 40),
		pre("s", "gp_", hexes, 40),
		pre("AK", "Cp", alnums, 69), pre("pu", "l-", hexes, 40),
	}
}

func cloudKinds() []kindOfSecret {
	return []kindOfSecret{
		pre("AK", "IA", capitals+figures, 16), pre("AS", "IA", capitals+figures, 16),
		pre("AB", "IA", capitals+figures, 16),
		pre("AC", "CA", capitals+figures, 16), pre("AI", "za", tokens, 35), pre("GOC", "SPX-", tokens, 28),
		pre("ya", "29.", tokens, 60),
		pre("1/", "/0", tokens, 60), pre("dop", "_v1_", hexes, 64), pre("doo", "_v1_", hexes, 64),
		pre("HR", "KU-AA", tokens, 58),
		pre("fo", "1_", tokens, 43), pre("fm", "2_", alnums+"+/", 120), pre("nf", "p_", alnums, 36),
		pre("vercel", "_blob_rw_", alnums, 40),
		pre("da", "pi", hexes, 32), pre("pscale", "_tkn_", tokens, 43), pre("sb", "p_", hexes, 40),
		pre("hv", "s.", tokens, 90),
		pre("hv", "b.", tokens, 90), pre("dp", ".pt.", alnums, 43), pre("AGE-SECRET", "-KEY-1", capitals+figures, 58),
		pre("ops", "_eyJ", alnums, 250), pre("LT", "AI", alnums, 20), pre("ts", "key-auth-", alnums, 30),
		pre("v1", ".0-", hexes, 171),
		pre("sha256", "~", tokens, 43), pre("4b", "1d", alnums, 38),
	}
}

func serviceKinds() []kindOfSecret {
	return []kindOfSecret{
		pre("xo", "xb-", figures+alnums, 50), pre("xo", "xp-", alnums, 60), pre("xa", "pp-1-A0", alnums, 60),
		pre("S", "K", hexes, 32),
		pre("ke", "y-", hexes, 32), pre("xkey", "sib-", hexes, 64), pre("lin", "_api_", alnums, 40),
		pre("nt", "n_", alnums, 46),
		pre("secr", "et_", alnums, 43), pre("fi", "gd_", tokens, 40), pre("PM", "AK-", hexes, 59),
		pre("NR", "AK-", capitals+figures, 27),
		pre("gl", "sa_", alnums, 41), pre("gl", "c_", alnums, 80), pre("sn", "tryu_", hexes, 64),
		pre("sn", "trys_", alnums, 120),
		pre("pat-", "na1-", hexes, 36), pre("EA", "AC", alnums, 150), pre("rd", "me_", smalls+figures, 70),
		pre("API", "-", capitals+figures, 26),
		pre("sk_", "live_", alnums, 24), pre("sk_", "test_", alnums, 24), pre("rk_", "live_", alnums, 24),
		pre("pk_", "live_", alnums, 24),
		pre("wh", "sec_", alnums, 32), pre("sq", "0atp-", tokens, 22), pre("sq", "0csp-", tokens, 43),
		pre("EA", "AA", tokens, 60),
		pre("access_token", "$production$", alnums, 49), pre("sh", "pat_", hexes, 32), pre("sh", "pss_", hexes, 32),
		pre("EZ", "AK", alnums, 54),
		pre("shippo", "_live_", hexes, 40), pre("FLW", "SECK_TEST-", hexes, 32), pre("duffel", "_live_", tokens, 43),
	}
}

// builtKinds are secrets known by their build.
func builtKinds() []kindOfSecret {
	one := func(name string, f func(r *rand.Rand) string) kindOfSecret { return kindOfSecret{name, f} }
	return []kindOfSecret{
		one("sendgrid", func(r *rand.Rand) string {
			return "S" + "G." + draw(r, tokens, 22) + "." +
				draw(r, tokens, 43)
		}),
		one("telegram", func(r *rand.Rand) string {
			return draw(r, "123456789", 9) + ":" + "AA" +
				draw(r, tokens, 33)
		}),
		one("discord", func(r *rand.Rand) string {
			return "M" + "T" + draw(r, alnums, 22) + "." + draw(r, alnums, 6) + "." + draw(r, tokens, 27)
		}),
		one("jwt", drawJWT),
		one("mailchimp", func(r *rand.Rand) string { return draw(r, hexes, 32) + "-" + "us12" }),
		one("azure", func(r *rand.Rand) string { return draw(r, alnums, 3) + "8" + "Q~" + draw(r, tokens+".", 34) }),
		one("terraform", func(r *rand.Rand) string {
			return draw(r, alnums, 14) + ".atlas" + "v1." +
				draw(r, tokens, 64)
		}),
		one("airtable", func(r *rand.Rand) string {
			return "pa" + "t" + draw(r, alnums, 14) + "." +
				draw(r, hexes, 64)
		}),
		one("dynatrace", func(r *rand.Rand) string {
			return "dt0" + "c01." + draw(r, capitals+figures, 24) + "." + draw(r, capitals+figures, 64)
		}),
		one("maxmind", func(r *rand.Rand) string {
			return draw(r, alnums, 6) + "_" + draw(r, alnums, 29) + "_m" +
				"mk"
		}),
		one("bcrypt", func(r *rand.Rand) string { return "$2" + "y$10$" + draw(r, alnums+"./", 53) }),
		one("sha512crypt", func(r *rand.Rand) string {
			return "$" + "6$" + draw(r, alnums, 16) + "$" +
				draw(r, alnums, 86)
		}),
		one("swarm", func(r *rand.Rand) string {
			return "SWM" + "TKN-1-" + draw(r, smalls+figures, 50) + "-" + draw(r, smalls+figures, 25)
		}),
		one("plaid", func(r *rand.Rand) string {
			return "access-" + "sandbox-" + strings.Join([]string{draw(r, hexes, 8), draw(r, hexes, 4),
				draw(r, hexes, 4), draw(r, hexes, 4), draw(r, hexes, 12)}, "-")
		}),
	}
}

func drawJWT(r *rand.Rand) string {
	enc := b64.RawURLEncoding
	head := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
	body := enc.EncodeToString([]byte(`{"sub":"` + draw(r, figures, 10) + `","name":"` + draw(r, smalls, 8) + `"}`))
	return head + "." + body + "." + draw(r, tokens, 43)
}

// drawPEM is a private key as files hold it.
func drawPEM(r *rand.Rand, label string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "-----\n")
	for range lines {
		b.WriteString(draw(r, alnums+"+/", 64) + "\n")
	}
	b.WriteString("-----END " + label + "-----")
	return b.String()
}

// dice returns a source of random numbers with a fixed seed.
func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }
