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
