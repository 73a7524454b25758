package index

// IDs lists the documents whose IDs begin with one of some prefixes, in no
// order. It is for whoever keeps several documents of one thing.
func (x *Index) IDs(prefixes ...string) (ids []string, err error) {
	defer guard(&err)()
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return nil, err
	}
	defer view.Close()
	for _, p := range view.parts {
		dictionary, err := p.file.Dictionary("_id")
		if err != nil {
			return nil, err
		}
		t := traitReader{dictionary: dictionary, gone: p.deleted}
		for _, prefix := range prefixes {
			from := []byte(prefix)
			for _, id := range t.terms(from, after(from)) {
				if t.live(id) {
					ids = append(ids, string(id))
				}
			}
		}
		if t.err != nil {
			return nil, t.err
		}
	}
	return ids, nil
}

// live reports whether a document that has a term is there still.
func (t *traitReader) live(term []byte) bool {
	list, err := t.dictionary.PostingsList(term, t.gone, nil)
	if err != nil {
		t.err = err
		return false
	}
	return list.Count() > 0
}
