<?php

// Sends one email, a batch and an import with a client made by openapi-generator, reads them back, and prints the results.

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = getcwd() . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class) . '.php';
    if (str_starts_with($class, 'OpenAPI\\Client\\') && is_file($file)) {
        require $file;
    }
});

use OpenAPI\Client\Api\EmailsApi;
use OpenAPI\Client\Api\EventsApi;
use OpenAPI\Client\Api\SuppressionsApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model;

$configuration = (new Configuration())->setHost(getenv('VERDICT_URL'))->setAccessToken(getenv('VERDICT_API_KEY'));
$emails = new EmailsApi(null, $configuration);
$content = ['from' => getenv('FROM'), 'subject' => 'Hello', 'text' => 'It works.'];
$sent = $emails->sendEmail(new Model\SendRequest(['to' => 'delivered@simulator.test', ...$content]));

$several = ['mailbox_full@simulator.test', 'delivered@simulator.test'];
$item = new Model\BatchItem(['to' => $several, ...$content]);
$batch = $emails->sendEmailBatch(new Model\SendBatchRequest(['emails' => [$item]]));

$email = $emails->getEmail($sent->getMessageId());
$events = (new EventsApi(null, $configuration))->listEvents($sent->getMessageId());
$list = new Model\SuppressionServiceImportRequest(['emails' => ['php@example.com']]);
$imported = (new SuppressionsApi(null, $configuration))->importSuppressions($list);
try {
    $emails->getEmail('msg_unknown');
    throw new LogicException('There is no such email.');
} catch (ApiException $exception) {
    $fault = $exception->getResponseObject();
}

echo json_encode([
    'sent' => $sent->getStatus(),
    'code' => $sent->getSmtp()->getCode(),
    'batch' => $batch->getResults()[0]->getReason(),
    'subject' => $email->getSubject(),
    'events' => count($events->getEvents()),
    'imported' => $imported->getImported(),
    'error' => $fault->getError(),
]);
