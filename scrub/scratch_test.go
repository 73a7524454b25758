package scrub
import ("testing";"fmt";"strings")
func TestTop(t *testing.T) {
	p := builtin
	for name, s := range map[string]string{"logs":logLines(dice(20), 8000), "src": goSource(t)} {
	real := map[string]int{}
	hits, falseHits, long := 0,0,0
	for base:=0; base+40<len(s); base+=32 {
		h := p.index.hits(s[base:base+40])
		if isRun(s[base:base+40]) {long++}
		for i:=0;i<32;i++ { if h>>i&1==1 { hits++; w:=windowOf(s[base+i:]); if p.index.slot(w).first==0 {falseHits++;} else {real[strings.ToLower(s[base+i:base+i+4])]++} } }
	}
	fmt.Println(name,"len",len(s),"hits",hits,"false",falseHits,"long",long)
	type kv struct{k string; n int}
	var l []kv
	for k,n := range real { l=append(l,kv{k,n}) }
	for range 30 { b:=0; for i := range l { if l[i].n>l[b].n {b=i} }; fmt.Printf("%q:%d ",l[b].k,l[b].n); l[b].n=0 }
	fmt.Println()
	}
}
func BenchmarkSk(b *testing.B) {
	s := strings.Repeat("sk-", 256<<10/3)
	for b.Loop() { new(Scrubber).Text(s) }
}
func BenchmarkTok(b *testing.B) {
	s := strings.Repeat("token=$", 256<<10/7)
	for b.Loop() { new(Scrubber).Text(s) }
}
func TestHash(t *testing.T) {
	p := builtin
	ws := map[uint32]bool{}
	for _,tr := range p.triggers { ws[tr.window]=true }
	for name, s := range map[string]string{"logs":logLines(dice(20), 8000), "src": goSource(t)} {
	s=strings.ToLower(s)
	for hn, f := range map[string]func(w uint32) uint32{
		"mul64-18": func(w uint32) uint32 { h:=uint64(w)*0x9E3779B97F4A7C15; return uint32(h>>(64-18)) },
		"w8": func(w uint32) uint32 { h:=w*mixing; return h>>20<<6|(w>>8)&63 },
		"w16": func(w uint32) uint32 { h:=w*mixing; return h>>20<<6|(w>>16)&63 },
		"w24": func(w uint32) uint32 { h:=w*mixing; return h>>20<<6|(w>>24)&63 },
		"w8b": func(w uint32) uint32 { h:=w*0x85EBCA6B; return h>>20<<6|(w>>8)&63 },
		"w24b": func(w uint32) uint32 { h:=w*0x85EBCA6B; return h>>20<<6|(w>>24)&63 },
		"w24c": func(w uint32) uint32 { h:=w*0xC2B2AE35; return h>>20<<6|(w>>24)&63 },
		"w24d": func(w uint32) uint32 { h:=w*0x2C1B3C6D; return h>>20<<6|(w>>24)&63 },
		"w24e": func(w uint32) uint32 { h:=w*0x297A2D39; return h>>20<<6|(w>>24)&63 },
		"w8e": func(w uint32) uint32 { h:=w*0x297A2D39; return h>>20<<6|(w>>8)&63 },
		"w8c": func(w uint32) uint32 { h:=w*0xC2B2AE35; return h>>20<<6|(w>>8)&63 },
	} {
		bits := make([]bool, 1<<18)
		for w := range ws { bits[f(w)]=true }
		fa := 0
		for i:=0;i+4<=len(s);i++ { w:=windowOf(s[i:]); if bits[f(w)] && !ws[w] {fa++} }
		fmt.Printf("%s %s %.4f\n", name, hn, float64(fa)/float64(len(s)))
	}}
}
func TestSearch(t *testing.T) {
	p := builtin
	ws := map[uint32]bool{}
	for _,tr := range p.triggers { ws[tr.window]=true }
	texts := []string{logLines(dice(20), 8000)[:300000], goSource(t)[:400000], goSource(t)[900000:1200000]}
	var lists [][]uint32
	for _, s := range texts { s=strings.ToLower(s); var l []uint32; for i:=0;i+4<=len(s);i++ { w:=windowOf(s[i:]); if !ws[w] {l=append(l,w)} }; lists=append(lists,l) }
	r := dice(99)
	type res struct{ m uint32; sh int; fp float64 }
	var best []res
	for range 400 {
		m := r.Uint32()|1
		for _, sh := range []int{8} {
			var bits [1<<12]uint64
			for w := range ws { bits[w*m>>20] |= 1<<((w>>sh)&63) }
			sum := 0.0
			for _, l := range lists { n:=0; for _,w := range l { if bits[w*m>>20]>>((w>>sh)&63)&1 == 1 {n++} }; sum += float64(n)/float64(len(l)) }
			best = append(best, res{m,sh,sum/3})
		}
	}
	for range 8 { b:=0; for i := range best { if best[i].fp < best[b].fp {b=i} }; fmt.Printf("%#x %d %.4f\n", best[b].m,best[b].sh,best[b].fp); best[b].fp=1 }
}
