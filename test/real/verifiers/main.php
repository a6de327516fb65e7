<?php

require 'docs/verify/verify.php';

$vectors = json_decode(file_get_contents('docs/verify/vectors.json'), true);
$answers = [];
foreach ($vectors['requests'] as $request) {
    // What PHP makes of the headers of a request.
    $server = [];
    foreach ($request['headers'] as $name => $value) {
        $server['HTTP_' . strtoupper(str_replace('-', '_', $name))] = $value;
    }
    $answers[] = Verdict\check($request['body'] ?? $vectors['body'], $server, $vectors['secret'], $vectors['now']);
}
echo json_encode($answers);
