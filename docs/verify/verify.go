// Package verify verifies that a request to your webhook endpoint comes from the service. It needs only Go's standard
// library. In a handler, read the body with io.ReadAll and call Check(body, request.Header, secret, time.Now()).
package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

const tolerance = 300 * time.Second

// Check returns the status to respond with: 200 for a request from the service, 401 for a wrong signature, 400 for a
// time too far from the clock. The body is the one that arrived, before any JSON is parsed.
func Check(body []byte, header http.Header, secret string, now time.Time) int {
	timestamp := header.Get("Service-Timestamp")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	isSigned := false
	// For 24 hours after a rotation of the secret, the second header has the signature of the previous one.
	for _, name := range []string{"Service-Signature", "Service-Signature-Previous"} {
		if hmac.Equal([]byte(header.Get(name)), expected) {
			isSigned = true
		}
	}
	if !isSigned {
		return http.StatusUnauthorized
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil || now.Sub(time.Unix(int64(seconds), 0)).Abs() > tolerance {
		return http.StatusBadRequest
	}
	return http.StatusOK
}
