package edit
import ("testing";"strings";"time";"fmt")
func TestZZ(t *testing.T){
 r := strings.Repeat
 for i, c := range []struct{c,o,n string}{
  {r("a\n",8<<20), r("  a\n b\n",100000), "x"},
  {r("a\n",8<<20), r("  a\n",100000)+" a\n", "x"},
  {r("a\n",8<<20), r("  a\n",2)+" a\n", "x"},
  {r("a \n",5<<20), r("a\n",100000)+"b", "x"},
  {r("a",16<<20), r("a",1<<19)+"b", "x"},
  {r("\u2019",5<<20), r("'",1<<19)+"b", "x"},
  {r("\u2019",5<<20), r("'",1<<19), "x"},
  {r("a b ",4<<20), r("a b ",1<<17)+"c", "x"},
  {r("ab\r\n",4<<20), r("ab\n",1<<17)+"c", "x"},
  {r("\t",16<<20), r(" ",1<<19)+"c", "x"},
  {r("\t\n",8<<20)+"c", r(" \n",1<<18)+"c", "x"},
  {r("\u2019\n",4<<20), r("'\n",1<<17), r("y\n",1<<17)},
  {r("x“y”z w\n",1<<17), r("x\"y\"z w\n",1<<16)+"x\"y\"z w", r("x\"q\"r w\n",1<<16)},
  {r("\r\n",8<<20), r("\n",1<<19)+"c", "x"},
  {r("{[(",5<<20), r("{[(",1<<18)+"c", "x"},
 } {
  for _, all := range []bool{false,true} {
  s := time.Now()
  _, err := Apply(t.Context(), []byte(c.c), []Edit{{Old:c.o,New:c.n,All:all}})
  d := time.Since(s)
  t.Log(i, all, d, func() string { return fmt.Sprintf("%.150v", err) }())
  }
 }
}
