<?php
/**
 * Signatures match the test vectors of the contract, which the gateway uses too.
 */

declare( strict_types=1 );

final class Test_Client_Signature extends Tocsin_Test_Case {

	public function test_signatures_match_the_contract(): void {
		$file    = dirname( __DIR__, 3 ) . '/packages/contract/fixtures/signatures.json';
		$vectors = json_decode( file_get_contents( $file ), true )['vectors'];
		$this->assertNotEmpty( $vectors );
		foreach ( $vectors as $vector ) {
			$signature = Tocsin_Client::sign( $vector['timestamp'], $vector['body'], $vector['apiKey'] );
			$this->assertSame( $vector['signature'], $signature, $vector['body'] );
		}
	}

	public function test_companion_is_active_in_a_real_wordpress(): void {
		$this->assertContains( 'tocsin/tocsin.php', get_option( 'active_plugins' ) );
		$this->assertSame( 1, did_action( 'init' ) );
		$this->assertSame( 1, did_action( 'tocsin_register_templates' ) );
	}
}
