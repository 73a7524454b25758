package office

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the format prescribes it
	"crypto/sha256"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/pack"
)

// decryptODF returns the package without its password. Each of its parts is encrypted.
func decryptODF(ctx context.Context, p *pack.Package, src document.Source) (*pack.Package, document.Source, error) {
	var secret []*pack.Node
	for _, entry := range tree(p, "META-INF/manifest.xml").Children("manifest:file-entry") {
		if entry.Child("manifest:encryption-data") != nil {
			secret = append(secret, entry)
		}
	}
	if len(secret) == 0 {
		return p, src, nil
	}
	if src.Password == "" {
		return nil, src, document.Errorf(document.ErrPassword, "the document is encrypted; pass its password")
	}
	var plain bytes.Buffer
	z := zip.NewWriter(&plain)
	for _, entry := range secret {
		name := entry.Attr("manifest:full-path")
		if !isWanted(name, src.Pictures) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, src, err
		}
		data, err := decryptPart(p, name, entry.Child("manifest:encryption-data"), src)
		if err != nil {
			return nil, src, err
		}
		if int64(plain.Len()+len(data)) > src.Limits.Total {
			return nil, src, document.Errorf(document.ErrTooBig, "unpacked, the document has over %d MB",
				src.Limits.Total>>20)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			return nil, src, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, src, err
	}
	src.Data, src.Size = bytes.NewReader(plain.Bytes()), int64(plain.Len())
	p, err := pack.Open(ctx, src)
	return p, src, err
}

// isWanted reports whether a part is read; each key costs time.
func isWanted(name string, pictures bool) bool {
	switch name {
	case "content.xml", "styles.xml", "meta.xml":
		return true
	}
	return strings.HasPrefix(name, "Object") && strings.HasSuffix(name, "content.xml") ||
		pictures && strings.HasPrefix(name, "Pictures/")
}

// decryptPart decrypts and unpacks a part; ODF 1.2, part 3, describes how it is encrypted.
func decryptPart(p *pack.Package, name string, data *pack.Node, src document.Source) ([]byte, error) {
	algorithm, derivation := data.Child("manifest:algorithm"), data.Child("manifest:key-derivation")
	iterations := number(derivation.Attr("manifest:iteration-count"), 0)
	iv := unbase64(algorithm.Attr("manifest:initialisation-vector"))
	if !strings.HasSuffix(algorithm.Attr("manifest:algorithm-name"), "aes256-cbc") || iterations < 1 ||
		iterations > 10_000_000 || len(iv) != aes.BlockSize {
		return nil, unknownEncryption()
	}
	start := sha256.Sum256([]byte(src.Password))
	key, err := pbkdf2.Key(sha1.New, string(start[:]), unbase64(derivation.Attr("manifest:salt")), iterations, 32)
	if err != nil {
		return nil, unknownEncryption()
	}
	text, err := p.Read(name)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || len(text)%aes.BlockSize != 0 {
		return nil, document.Errorf(document.ErrBroken, "the file is damaged: its part %.60q is incomplete", name)
	}
	text = cbc(text, key, iv)
	text = text[:max(len(text)-int(text[len(text)-1]), 0)]
	if strings.HasSuffix(data.Attr("manifest:checksum-type"), "sha256-1k") {
		check := sha256.Sum256(text[:min(len(text), 1024)])
		if !bytes.Equal(check[:], unbase64(data.Attr("manifest:checksum"))) {
			return nil, wrongPassword()
		}
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(text)), src.Limits.Part+1))
	switch {
	case err != nil:
		return nil, wrongPassword()
	case int64(len(plain)) > src.Limits.Part:
		return nil, document.Errorf(document.ErrTooBig, "a part of the document has over %d MB", src.Limits.Part>>20)
	}
	return plain, nil
}
