<?php

// Verifies that a request to your webhook endpoint comes from the service. It needs only PHP 8 or later:
//   http_response_code(Verdict\check(file_get_contents('php://input'), $_SERVER, $secret, time()));

namespace Verdict;

const TOLERANCE_SECONDS = 300;

/**
 * Returns the status to respond with: 200 for a request from the service, 401 for a wrong signature, 400 for a time too
 * far from the clock. The body is the one that arrived, before any JSON is parsed; the headers are those of $_SERVER.
 */
function check(string $body, array $server, string $secret, int $now): int
{
    $timestamp = $server['HTTP_SERVICE_TIMESTAMP'] ?? '';
    $expected = hash_hmac('sha256', $timestamp . '.' . $body, $secret);
    // For 24 hours after a rotation of the secret, the second header has the signature of the previous one.
    $isSigned = false;
    foreach (['HTTP_SERVICE_SIGNATURE', 'HTTP_SERVICE_SIGNATURE_PREVIOUS'] as $name) {
        $isSigned = hash_equals($expected, $server[$name] ?? '') || $isSigned;
    }
    if (!$isSigned) {
        return 401;
    }
    $isRecent = preg_match('/^[0-9]+$/D', $timestamp) && abs($now - (int) $timestamp) <= TOLERANCE_SECONDS;
    return $isRecent ? 200 : 400;
}
