package snapshots

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	saltSize     = 16
	fileIDSize   = 16
	keyCheckSize = 12
	keyInfo      = "kronicle snapshot block key v1"
	checkInfo    = "kronicle snapshot key check v1"
)

// sealer encrypts the blocks of one snapshot. Its key belongs to this file alone (random salt), so the block number is a
// nonce that never repeats. Additional data ties a block to its place: blocks cannot be swapped within or between files.
type sealer struct {
	aead   cipher.AEAD
	fileID [fileIDSize]byte
}

// newSealer derives the file's key from secret. The check value lets a reader tell a wrong key from damaged bytes.
func newSealer(secret []byte, salt [saltSize]byte, fileID [fileIDSize]byte) (*sealer, [keyCheckSize]byte, error) {
	var check [keyCheckSize]byte
	key, err := hkdf.Key(sha256.New, secret, salt[:], keyInfo, 32)
	if err != nil {
		return nil, check, fmt.Errorf("derive snapshot key: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, secret, salt[:], checkInfo, keyCheckSize)
	if err != nil {
		return nil, check, fmt.Errorf("derive snapshot key check: %w", err)
	}
	copy(check[:], derived)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, check, fmt.Errorf("snapshot cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, check, fmt.Errorf("snapshot cipher: %w", err)
	}
	return &sealer{aead: aead, fileID: fileID}, check, nil
}

// seal appends the sealed plain to dst.
func (s *sealer) seal(dst, plain []byte, number uint32) []byte {
	nonce, extra := s.place(number)
	return s.aead.Seal(dst, nonce[:], plain, extra[:])
}

// open decrypts sealed in place.
func (s *sealer) open(sealed []byte, number uint32) ([]byte, error) {
	nonce, extra := s.place(number)
	return s.aead.Open(sealed[:0], nonce[:], sealed, extra[:])
}

func (s *sealer) place(number uint32) (nonce [12]byte, extra [fileIDSize + 4]byte) {
	binary.BigEndian.PutUint32(nonce[8:], number)
	copy(extra[:], s.fileID[:])
	binary.BigEndian.PutUint32(extra[fileIDSize:], number)
	return nonce, extra
}
