package office

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"hash"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/richardlehane/mscfb"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// ole begins files of the old formats of Office, and the new ones with a password.
const ole = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// decrypt returns the source without its password; MS-OFFCRYPTO describes how it is
// encrypted.
func decrypt(ctx context.Context, src document.Source) (plain document.Source, err error) {
	start := make([]byte, len(ole))
	if _, err := src.Data.ReadAt(start, 0); err != nil || string(start) != ole {
		return src, nil
	}
	if src.Password == "" {
		return src, document.Errorf(document.ErrPassword, "the document is encrypted; pass its password")
	}
	if src.Size > src.Limits.Part {
		return src, document.Errorf(document.ErrTooBig, "the document is encrypted and has over %d MB",
			src.Limits.Part>>20)
	}
	broken := document.Errorf(document.ErrBroken, "the encrypted document is damaged")
	defer func() {
		if recover() != nil { // the library panics on some damaged files
			err = broken
		}
	}()
	file, err := mscfb.New(src.Data)
	if err != nil {
		return src, broken
	}
	var info, data []byte
	for entry, err := file.Next(); err == nil; entry, err = file.Next() {
		switch entry.Name {
		case "EncryptionInfo":
			info, _ = io.ReadAll(io.LimitReader(entry, 1<<20))
		case "EncryptedPackage":
			data, _ = io.ReadAll(io.LimitReader(entry, src.Size))
		}
	}
	if len(info) < 8 || len(data) < 8 {
		return src, broken
	}
	size := binary.LittleEndian.Uint64(data)
	data = data[8:]
	data = data[:len(data)/aes.BlockSize*aes.BlockSize]
	switch binary.LittleEndian.Uint16(info[2:]) {
	case 4:
		err = decryptAgile(ctx, info[8:], data, src.Password)
	case 2:
		err = decryptStandard(info[8:], data, src.Password)
	default:
		err = unknownEncryption()
	}
	if err != nil {
		return src, err
	}
	data = data[:min(size, uint64(len(data)))]
	src.Data, src.Size = bytes.NewReader(data), int64(len(data))
	return src, nil
}

func unknownEncryption() error {
	return document.Errorf(document.ErrPassword,
		"the document is encrypted in a way that cannot be read here; save it without a password")
}

func wrongPassword() error { return document.Errorf(document.ErrPassword, "the password is wrong") }

// cipherData are parameters of the agile encryption.
type cipherData struct {
	Salt     string `xml:"saltValue,attr"`
	KeyBits  int    `xml:"keyBits,attr"`
	Cipher   string `xml:"cipherAlgorithm,attr"`
	Chaining string `xml:"cipherChaining,attr"`
	Hash     string `xml:"hashAlgorithm,attr"`
	Spins    int    `xml:"spinCount,attr"`
	Input    string `xml:"encryptedVerifierHashInput,attr"`
	Value    string `xml:"encryptedVerifierHashValue,attr"`
	Key      string `xml:"encryptedKeyValue,attr"`
}

func (c cipherData) hash() func() hash.Hash {
	switch strings.ReplaceAll(c.Hash, "-", "") {
	case "SHA512":
		return sha512.New
	case "SHA384":
		return sha512.New384
	case "SHA256":
		return sha256.New
	case "SHA1":
		return sha1.New
	case "MD5":
		return md5.New
	}
	return nil
}

func (c cipherData) isKnown() bool {
	return c.hash() != nil && c.Cipher == "AES" && c.Chaining == "ChainingModeCBC" &&
		(c.KeyBits == 128 || c.KeyBits == 192 || c.KeyBits == 256) && c.Spins <= 10_000_000
}

// decryptAgile decrypts data in place. Office has used this since 2010.
func decryptAgile(ctx context.Context, info, data []byte, password string) error {
	var e struct {
		Data cipherData   `xml:"keyData"`
		Keys []cipherData `xml:"keyEncryptors>keyEncryptor>encryptedKey"`
	}
	if xml.Unmarshal(info, &e) != nil || len(e.Keys) == 0 || !e.Keys[0].isKnown() || !e.Data.isKnown() {
		return unknownEncryption()
	}
	k := e.Keys[0]
	salt := unbase64(k.Salt)
	spun := sum(k.hash(), salt, utf16Bytes(password))
	for i := range k.Spins {
		if i%10_000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		spun = sum(k.hash(), little32(i), spun)
	}
	open := func(encrypted, block string) []byte {
		key := fit(sum(k.hash(), spun, []byte(block)), k.KeyBits/8)
		return cbc(unbase64(encrypted), key, fit(salt, aes.BlockSize))
	}
	input := open(k.Input, "\xfe\xa7\xd2\x76\x3b\x4b\x9e\x79")
	value := open(k.Value, "\xd7\xaa\x0f\x6d\x30\x61\x34\x4e")
	check := sum(k.hash(), input)
	if len(input) == 0 || len(value) < len(check) || !bytes.Equal(check, value[:len(check)]) {
		return wrongPassword()
	}
	secret := fit(open(k.Key, "\x14\x6e\x0b\xe7\xab\xac\xd0\xd6"), e.Data.KeyBits/8)
	const segment = 4096
	for i := 0; i*segment < len(data); i++ {
		part := data[i*segment : min((i+1)*segment, len(data))]
		cbc(part, secret, fit(sum(e.Data.hash(), unbase64(e.Data.Salt), little32(i)), aes.BlockSize))
	}
	return nil
}

// decryptStandard decrypts data in place. Office 2007 and some programs use this.
func decryptStandard(info, data []byte, password string) error {
	const spins, verifier = 50_000, 4 + 16 + 16 + 4 + 32
	if len(info) < 4 {
		return unknownEncryption()
	}
	header := int(binary.LittleEndian.Uint32(info))
	if header < 32 || header > len(info)-4-verifier {
		return unknownEncryption()
	}
	bits := int(binary.LittleEndian.Uint32(info[4+16:]))
	if bits != 128 && bits != 192 && bits != 256 {
		return unknownEncryption() // RC4
	}
	info = info[4+header:]
	salt, input, value := info[4:20], info[20:36], info[40:72]
	spun := sum(sha1.New, salt, utf16Bytes(password))
	for i := range spins {
		spun = sum(sha1.New, little32(i), spun)
	}
	spun = sum(sha1.New, spun, little32(0))
	derive := func(pad byte) []byte {
		block := bytes.Repeat([]byte{pad}, 64)
		for i := range spun {
			block[i] ^= spun[i]
		}
		return sum(sha1.New, block)
	}
	key := append(derive(0x36), derive(0x5c)...)[:bits/8]
	ecb(input, key)
	ecb(value, key)
	if check := sum(sha1.New, input); !bytes.Equal(check, value[:len(check)]) {
		return wrongPassword()
	}
	ecb(data, key)
	return nil
}

func sum(h func() hash.Hash, parts ...[]byte) []byte {
	s := h()
	for _, part := range parts {
		s.Write(part)
	}
	return s.Sum(nil)
}

// fit returns a key or a vector with the given length.
func fit(key []byte, length int) []byte {
	for len(key) < length {
		key = append(key, 0x36)
	}
	return key[:length]
}

func cbc(data, key, iv []byte) []byte {
	data = data[:len(data)/aes.BlockSize*aes.BlockSize]
	if block, err := aes.NewCipher(key); err == nil {
		cipher.NewCBCDecrypter(block, iv).CryptBlocks(data, data)
	}
	return data
}

func ecb(data, key []byte) {
	block, err := aes.NewCipher(key)
	for at := 0; err == nil && at+aes.BlockSize <= len(data); at += aes.BlockSize {
		block.Decrypt(data[at:], data[at:at+aes.BlockSize])
	}
}

func little32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

func unbase64(text string) []byte {
	data, _ := base64.StdEncoding.DecodeString(text) // the check fails for damaged data
	return data
}

func utf16Bytes(text string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}
